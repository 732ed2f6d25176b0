// SPDX-License-Identifier: Apache-2.0
#include "core/calibration/calibration.h"

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "core/estimate/estimate.h"
#include "core/telemetry/record.h"
#include "core/telemetry/writer.h"

namespace plimsoll {
namespace {

class CalibrationTest : public testing::Test {
protected:
    void SetUp() override {
        store_ = std::filesystem::temp_directory_path() / ("plimsoll-calibration-" + std::to_string(::getpid()));
        std::filesystem::create_directories(store_);
    }
    void TearDown() override { std::filesystem::remove_all(store_); }

    RunFolder run(const std::string& name) {
        auto folder = RunFolder::create(store_ / name, Plan{}, false);
        EXPECT_TRUE(folder) << folder.error().message;
        return folder ? *folder : RunFolder(store_ / name);
    }
    static void record(const RunFolder& run, int rank, double peak, const std::optional<Bytes>& event) {
        auto writer = TelemetryWriter::open(run.telemetry_path(rank));
        ASSERT_TRUE(writer) << writer.error().message;
        ASSERT_TRUE(writer->points(1, 0, {{series::memory_peak, peak}}));
        if (!event) return;
        Event memory;
        memory.step = 2;
        memory.kind = EventKind::Memory;
        memory.details = {{"rank", rank}, {"peak", *event}};
        ASSERT_TRUE(writer->event(memory));
    }

    std::filesystem::path store_;
};

TEST_F(CalibrationTest, TheFullestRanksSecondStepCounts) {
    const auto one = run("one");
    record(one, 0, 9e9, 50'000'000);
    record(one, 1, 9e9, 60'000'000);
    const auto peak = measure_peak(one);
    ASSERT_TRUE(peak) << peak.error().message;
    ASSERT_TRUE(*peak);
    EXPECT_EQ((*peak)->measured, 60'000'000);
    EXPECT_EQ((*peak)->estimated, estimate_memory(Plan{})->fullest().total());
    EXPECT_EQ((*peak)->device, "cpu");
}

TEST_F(CalibrationTest, WithoutEventsTheHighestPeakCounts) {
    const auto one = run("one");
    record(one, 0, 70e6, std::nullopt);
    record(one, 1, 80e6, std::nullopt);
    EXPECT_EQ((*measure_peak(one))->measured, 80'000'000);
}

TEST_F(CalibrationTest, OfAResumedRunItsLatestStartCounts) {
    const auto one = run("one");
    const auto event = [](EventKind kind, double time, Json details) {
        Event made;
        made.time = time;
        made.kind = kind;
        made.details = std::move(details);
        return made;
    };
    // Two ranks, then one rank under another layout, which takes less.
    {
        auto other = TelemetryWriter::open(one.telemetry_path(1));
        ASSERT_TRUE(other->points(1, 15, {{series::memory_peak, 80e6}}));
        ASSERT_TRUE(other->event(event(EventKind::Memory, 16, {{"rank", 1}, {"peak", 80'000'000}})));
    }
    auto writer = TelemetryWriter::open(one.telemetry_path(0));
    ASSERT_TRUE(writer->event(event(EventKind::Start, 10, Json::object())));
    ASSERT_TRUE(writer->event(event(EventKind::Memory, 12, {{"rank", 0}, {"peak", 70'000'000}})));
    ASSERT_TRUE(writer->event(event(EventKind::Resume, 20, Json::object())));
    EXPECT_FALSE(*measure_peak(one)) << "it has made no step yet";
    ASSERT_TRUE(writer->points(3, 21, {{series::memory_peak, 40e6}}));
    EXPECT_EQ((*measure_peak(one))->measured, 40'000'000);
    ASSERT_TRUE(writer->event(event(EventKind::Memory, 22, {{"rank", 0}, {"peak", 30'000'000}})));
    EXPECT_EQ((*measure_peak(one))->measured, 30'000'000);
}

TEST_F(CalibrationTest, ARunWithoutAStepLeavesNothing) {
    const auto one = run("one");
    EXPECT_FALSE(*measure_peak(one));
    EXPECT_TRUE(record_peak(one));
    EXPECT_FALSE(std::filesystem::exists(one.layout().peak()));
    EXPECT_EQ(calibration_of("cpu", store_).samples, 0);
    EXPECT_EQ(calibration_of("cpu", store_).applied_to(100), 100);
}

TEST_F(CalibrationTest, MedianOfTheRunsOnTheDevice) {
    for (const auto& [name, measured] : {std::pair{"a", 90}, {"b", 110}, {"c", 102}})
        ASSERT_TRUE(write_file_atomic(
            run(name).layout().peak(),
            fmt::format(R"({{"device": "cpu", "estimated_bytes": 100, "measured_bytes": {}}})", measured)));
    ASSERT_TRUE(write_file_atomic(run("other").layout().peak(),
                                  R"({"device": "H100 SXM5 80GB", "estimated_bytes": 100, "measured_bytes": 300})"));
    const auto calibration = calibration_of("cpu", store_);
    EXPECT_EQ(calibration.samples, 3);
    EXPECT_DOUBLE_EQ(calibration.median, 1.02);
    EXPECT_DOUBLE_EQ(calibration.low, 0.9);
    EXPECT_DOUBLE_EQ(calibration.high, 1.1);
    EXPECT_EQ(calibration.applied_to(1000), 1020);
}

TEST_F(CalibrationTest, FilesThatAreNotOursArePassedOver) {
    for (const char* text : {"", "[]", "{}", R"({"device": 3})", R"({"device": "cpu", "estimated_bytes": 0})",
                             R"({"device": "cpu", "estimated_bytes": -5, "measured_bytes": 7})",
                             R"({"device": "cpu", "estimated_bytes": 1e300, "measured_bytes": 7})"}) {
        const auto one = RunFolder(store_ / "odd");
        std::filesystem::create_directories(one.path());
        ASSERT_TRUE(write_file_atomic(one.layout().peak(), text));
        EXPECT_FALSE(read_peak(one)) << text;
    }
}

}  // namespace
}  // namespace plimsoll
