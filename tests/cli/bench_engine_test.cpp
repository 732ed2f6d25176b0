// SPDX-License-Identifier: Apache-2.0
// plimsoll bench with real workers.
#include "core/base/json.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class BenchEngineTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        std::filesystem::create_directory(folder / "tmp");
        ::setenv("TMPDIR", (folder / "tmp").c_str(), 1);
    }
    void TearDown() override {
        EXPECT_TRUE(std::filesystem::is_empty(folder / "tmp"));
        ::unsetenv("TMPDIR");
    }
    std::vector<std::string> bench(const std::string& which, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"bench",
                                           which,
                                           "cpu-demo",
                                           "--steps",
                                           "4",
                                           "--set",
                                           "data.path=" + path("corpus.txt"),
                                           "data.sequence_length=32",
                                           "layout.micro_batch=2"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }
};

TEST_F(BenchEngineTest, RanksOfOneJobReachTheSameLoss) {
    const Json json = json_of(plimsoll(bench(
        "train", {"--rounds", "2", "--json", "--variant", "layout.dp=1 layout.micro_batch=4 layout.recompute=full"})));
    EXPECT_EQ(json["rounds"], 2);
    EXPECT_EQ(json["steps_left_out"], 2);
    ASSERT_EQ(json["rows"].size(), 2U);
    const Json &two = json["rows"][0], &one = json["rows"][1];
    EXPECT_EQ(two["ranks"], 2);
    EXPECT_EQ(one["ranks"], 1);
    EXPECT_EQ(one["global_batch"], two["global_batch"]);
    EXPECT_NEAR(one["loss"].get<double>(), two["loss"].get<double>(), 1e-4);
    EXPECT_EQ(two["ratio"], 1);
    for (const Json& row : json["rows"]) {
        EXPECT_GT(row["tokens_per_second"]["median"].get<double>(), 0);
        EXPECT_EQ(row["tokens_per_second"]["rounds"].size(), 2U);
        EXPECT_EQ(row["peak_bytes"].size(), row["ranks"].get<std::size_t>());
        for (std::size_t r = 0; r < row["peak_bytes"].size(); ++r) {
            // Weights, gradients and Adam's moments of some 0.9 M parameters stay.
            EXPECT_GT(row["resting_bytes"][r].get<double>(), 1e7);
            EXPECT_GT(row["peak_bytes"][r], row["resting_bytes"][r]);
        }
        EXPECT_GT(row["estimate_bytes"].get<double>(), 1e7);
    }
}

TEST_F(BenchEngineTest, BucketsEndInASettingToCopy) {
    const Output output = plimsoll(bench("buckets", {"--rounds", "1"}));
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("training.bucket_mib=100"));
    EXPECT_THAT(output.out, HasSubstr("fastest: --set training.bucket_mib="));
    EXPECT_THAT(output.err, HasSubstr("one bucket holds them"));
    EXPECT_THAT(output.err, HasSubstr("round 1 of 1"));
}

}  // namespace
}  // namespace plimsoll
