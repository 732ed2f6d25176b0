// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/calibration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "core/base/file.h"

namespace plimsoll {
namespace {

class CalibrationFile : public testing::Test {
protected:
    void SetUp() override {
        folder_ = std::filesystem::path(testing::TempDir()) / "plimsoll-calibration";
        std::filesystem::remove_all(folder_);
        std::filesystem::create_directories(folder_);
        ::setenv("PLIMSOLL_CALIBRATION", folder_.c_str(), 1);
    }
    void TearDown() override {
        ::unsetenv("PLIMSOLL_CALIBRATION");
        std::filesystem::remove_all(folder_);
    }
    std::string refused(const std::string& text) {
        EXPECT_TRUE(write_file_atomic(folder_ / "cpu.json", text));
        const auto h = hardware_of({"cpu", 2, 1, 0, 1}, Dtype::Fp32);
        return h ? std::string() : h.error().message;
    }
    std::filesystem::path folder_;
};

TEST_F(CalibrationFile, TakesThePlaceOfTheGeneralRates) {
    const Cluster cluster{"cpu", 2, 1, 0, 1};
    auto h = hardware_of(cluster, Dtype::Fp32);
    ASSERT_TRUE(h);
    EXPECT_THAT(h->source, testing::HasSubstr("rough"));
    h->peak = 77e9;
    h->efficiency.host_kernel = 3e-6;
    ASSERT_TRUE(write_calibration(calibration_path("cpu"), *h, "2026-11-30, 12 runs"));
    const auto again = hardware_of(cluster, Dtype::Fp32);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->peak, 77e9);
    EXPECT_EQ(again->efficiency.host_kernel, 3e-6);
    EXPECT_EQ(again->source, "measured: 2026-11-30, 12 runs");
}

TEST_F(CalibrationFile, BadOnesAreRefusedInASentence) {
    EXPECT_THAT(refused("{}"), testing::HasSubstr("is no calibration"));
    EXPECT_THAT(refused("{"), testing::HasSubstr("cpu.json"));
    EXPECT_THAT(refused(R"({"plimsoll_calibration":1,"gpu":"A100"})"), testing::HasSubstr("measured on \"A100\""));
    EXPECT_THAT(refused(R"({"plimsoll_calibration":1,"gpu":"cpu","rates":{"peak":0}})"),
                testing::HasSubstr("rates.peak"));
    EXPECT_THAT(refused(R"({"plimsoll_calibration":1,"gpu":"cpu","rates":{"peek":1}})"), testing::HasSubstr("peek"));
    EXPECT_THAT(refused(R"({"plimsoll_calibration":1,"gpu":"cpu","rates":7})"), testing::HasSubstr("rates"));
    EXPECT_THAT(refused(R"({"plimsoll_calibration":1,"gpu":"cpu","efficiency":{"x":1}})"), testing::HasSubstr("\"x\""));
    EXPECT_EQ(refused(R"({"plimsoll_calibration":1,"gpu":"cpu"})"), "");
}

}  // namespace
}  // namespace plimsoll
