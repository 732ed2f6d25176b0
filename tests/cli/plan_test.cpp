// SPDX-License-Identifier: Apache-2.0
#include <filesystem>

#include "core/base/json.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PlanCommandTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        ::setenv("PLIMSOLL_CALIBRATION", (folder / "none").c_str(), 1);
    }
    void refused(const std::vector<std::string>& arguments, const std::string& why) {
        const Output output = plimsoll(arguments);
        EXPECT_EQ(output.code, 2) << output.out;
        EXPECT_THAT(output.err, HasSubstr(why));
        EXPECT_EQ(output.out, "");
    }
};

TEST_F(PlanCommandTest, RanksLayoutsAndWritesTheBest) {
    const auto best = (folder / "best.json").string();
    const Json json = json_of(plimsoll({"plan", "llama-7b", "--gpu", "A100 SXM4 80GB", "--gpus", "8", "--global-batch",
                                        "64", "--json", "-o", best, "--tokens", "1e12", "--price", "2"}));
    EXPECT_EQ(json["global_batch"], 64);
    ASSERT_EQ(json["ranked"].size(), 10U);
    EXPECT_EQ(json["counts"]["evaluated"].get<int>() + json["counts"]["pruned"].get<int>(), json["counts"]["layouts"]);
    for (std::size_t i = 1; i < json["ranked"].size(); ++i)
        EXPECT_LE(json["ranked"][i - 1]["step_seconds"], json["ranked"][i]["step_seconds"]);
    EXPECT_GT(json["budget"]["gpu_hours"], 0);
    EXPECT_GT(json["neighbours"].size(), 5U);
    const Json estimate = json_of(plimsoll({"estimate", best, "--json"}));
    const auto& layout = json["ranked"][0]["layout"];
    EXPECT_EQ(layout["dp"].get<int>() * layout["micro_batch"].get<int>() * layout["accumulation"].get<int>(), 64);
    EXPECT_TRUE(estimate.contains("model"));
}

TEST_F(PlanCommandTest, TextHasReasonsAndCounts) {
    const Output output = plimsoll({"plan", "llama-13b", "--gpu", "h100", "--gpus", "16", "--show", "3"});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("2 x 8 H100"));
    EXPECT_THAT(output.out, HasSubstr("where a step of the best goes: matrix products"));
    EXPECT_THAT(output.out, HasSubstr("why not beside the best"));
    EXPECT_THAT(output.out, HasSubstr("layouts in"));
}

TEST_F(PlanCommandTest, LimitsAreKept) {
    const Json json = json_of(plimsoll({"plan", "llama-13b", "--gpu", "h100", "--gpus", "8", "--tp", "4", "--zero", "1",
                                        "--recompute", "full", "--schedule", "1f1b", "--json"}));
    ASSERT_FALSE(json["ranked"].empty());
    for (const auto& row : json["ranked"]) {
        EXPECT_EQ(row["layout"]["tp"], 4);
        EXPECT_EQ(row["layout"]["zero_stage"], 1);
        EXPECT_EQ(row["layout"]["recompute"], "full");
    }
}

TEST_F(PlanCommandTest, NothingFitsSaysWhatBindsAndTheWayOut) {
    const auto best = folder / "best.json";
    const Output output = plimsoll({"plan", "llama-2-70b", "--gpu", "RTX 4090", "--gpus", "2"});
    EXPECT_EQ(output.code, 1);
    EXPECT_THAT(output.err, HasSubstr("no layout fits: memory: the leanest of"));
    EXPECT_THAT(output.out, HasSubstr("GPUs instead of 2"));
    const Output written =
        plimsoll({"plan", "llama-2-70b", "--gpu", "RTX 4090", "--gpus", "2", "--json", "-o", best.string()});
    EXPECT_EQ(written.code, 1);
    EXPECT_THAT(written.err, HasSubstr(best.string() + " is not written"));
    EXPECT_TRUE(Json::parse(written.out)["ranked"].empty());
    EXPECT_FALSE(std::filesystem::exists(best));
}

TEST_F(PlanCommandTest, RiskAndHostMemoryStandInEachRow) {
    const std::vector<std::string> call{"plan", "llama-3-70b", "--gpus", "8", "--show", "4"};
    const Output text = plimsoll(call);
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part :
         {" OOM ", " host ", "optimizer on host", "fits with 95 %", "OOM: chance to run out of memory"})
        EXPECT_THAT(text.out, HasSubstr(part));
    for (const char* framework : {"plimsoll", "megatron"}) {
        auto with = call;
        with.insert(with.end(), {"--json", "--fit-probability", "90", "--framework", framework});
        const Output answer = plimsoll(with);
        const Json json = Json::parse(answer.out);
        EXPECT_EQ(answer.code, json["ranked"].empty() ? 1 : 0);
        EXPECT_EQ(json["framework"], framework);
        for (const auto& row : json["ranked"]) {
            EXPECT_LE(row["out_of_memory_probability"], 0.1);
            EXPECT_GE(row["host_bytes"], 0);
        }
    }
    auto small = call;
    small.insert(small.end(), {"--host-memory", "512"});
    const Output none = plimsoll(small);
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("no layout fits: host memory: "));
    const Output help = plimsoll({"plan", "--help"});
    EXPECT_THAT(help.out, HasSubstr("left out: all"));
    EXPECT_THAT(help.out, Not(HasSubstr("none: all")));
    EXPECT_THAT(help.out, HasSubstr("1 none does"));
}

TEST_F(PlanCommandTest, UnequalGpusArePlannedFor) {
    const Output output =
        plimsoll({"plan", "llama-7b", "--gpu", "A100 SXM4 80GB", "--gpus", "8", "--and", "A100 SXM4 40GB:8x2"});
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("all 24 GPUs"));
}

TEST_F(PlanCommandTest, BadInputIsRefusedWithTheCure) {
    refused({"plan"}, "MODEL");
    refused({"plan", "lama-7b"}, "llama-7b");
    refused({"plan", "llama-7b", "--gpu", "A1000"}, "A1000");
    refused({"plan", "llama-7b", "--gpus", "0"}, "--gpus");
    refused({"plan", "llama-7b", "--gpus", "9", "--nodes", "2"}, "take 8 or 10");
    refused({"plan", "llama-7b", "--gpus", "8", "--tp", "two"}, "--tp: \"two\"");
    refused({"plan", "llama-7b", "--gpus", "8", "--schedule", "2f2b"}, "is not one of gpipe, 1f1b");
    refused({"plan", "llama-7b", "--gpus", "8", "--objective", "joy"}, "--objective");
    refused({"plan", "llama-7b", "--gpus", "8", "--and", "H100"}, "NAME:GPUS");
    refused({"plan", "llama-7b", "--gpus", "8", "--headroom", "100"}, "--headroom");
    refused({"plan", "llama-7b", "--gpus", "8", "--fit-probability", "0.95"}, "write 95 for 95 %");
    refused({"plan", "llama-7b", "--gpus", "8", "--fit-probability", "100"}, "--fit-probability");
    refused({"plan", "llama-7b", "--gpus", "8", "--framework", "megatrom"}, "--framework");
    refused({"plan", "llama-7b", "--gpus", "8", "--host-memory", "-1"}, "--host-memory");
    refused({"plan", "t5-11b", "--gpus", "8", "--framework", "torchtitan"}, "no encoder-decoder");
    refused({"plan", "llama-7b", "--gpus", "8", "--set", "layout.tpp=2"}, "layout.tpp");
    refused({"plan", "gpt2", "--gpus", "8", "--seq", "4096"}, "learned positions");
    refused({"plan", "gpt2", "--gpus", "8", "--seq", "0"}, "0 is not a whole number from 1; `plimsoll");
    refused({"plan", "gpt2", "--gpus", "8", "--price", "-2"}, "-2 is too low: a number above 0 is needed; `plimsoll");
}

TEST_F(PlanCommandTest, StepTimesBesidePublishedOnes) {
    const Json bundled = json_of(plimsoll({"validate", "step-time", "--json"}));
    EXPECT_EQ(bundled["rows"].size(), 35U);
    const Json vtrain = json_of(plimsoll(
        {"validate", "step-time", PLIMSOLL_SOURCE_DIR "/resources/validation/vtrain-step-times-single.csv", "--json"}));
    EXPECT_EQ(vtrain["summary"]["rows"], 729);
    EXPECT_LE(vtrain["summary"]["mean_absolute_error"].get<double>(), 0.084);
    refused({"validate", "step-time", "/no/such.csv"}, "/no/such.csv");
    put_contents(folder / "bad.csv", "a,b\n1,2\n");
    refused({"validate", "step-time", (folder / "bad.csv").string()}, "# GPUs");
    refused({"validate", "step-time", "--gpu", "A1000",
             PLIMSOLL_SOURCE_DIR "/resources/validation/vtrain-step-times-multi.csv"},
            "A1000");
    refused({"bench"}, "--calibrate");
    refused({"bench", "--calibrate", "--gpu", "A1000"}, "A1000");
}

}  // namespace
}  // namespace plimsoll
