// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/estimate.h"
#include "core/base/json.h"

#include <unistd.h>

#include <filesystem>

#include "core/estimate/estimate_json.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class EstimateTest : public CliTest {};

/// What core's to_json gives: the command adds the framework, the range and the odds.
Json without_ranges(Json json) {
    for (const char* key : {"framework", "calibration", "interval_samples"}) EXPECT_EQ(json.erase(key), 1U) << key;
    for (auto& rank : json.at("ranks"))
        for (const char* key : {"low_bytes", "high_bytes", "out_of_memory_probability"})
            EXPECT_EQ(rank.erase(key), 1U) << key;
    return json;
}

TEST_F(EstimateTest, JsonHoldsParametersAndTheTermsOfCore) {
    const Json json = json_of(plimsoll({"estimate", "llama-7b-4xa100", "--json"}));
    EXPECT_EQ(json["model"]["parameters"], 6738415616);  // transformers' LlamaForCausalLM
    const auto plan = plan_from_argument("llama-7b-4xa100");
    ASSERT_TRUE(plan);
    const auto estimate = estimate_memory(plan->plan);
    ASSERT_TRUE(estimate);
    EXPECT_EQ(without_ranges(json), to_json(*estimate, plan->plan));
}

TEST_F(EstimateTest, GpuAndSettingsChangeThePlan) {
    const Json json = json_of(
        plimsoll({"estimate", "llama-7b", "--gpu", "h100", "--gpus", "8", "--set", "layout.zero_stage=3", "--json"}));
    const auto named = plan_from_argument("llama-7b");
    Plan plan = named->plan;
    plan.cluster.gpu = "H100 SXM5 80GB";
    plan.cluster.gpus_per_node = 8;
    plan.cluster.nodes = 1;
    const std::int64_t each = plan.layout.global_batch() / 8;
    plan.layout.dp = 8;
    plan.layout.accumulation = each / plan.layout.micro_batch;
    plan.layout.zero_stage = 3;
    EXPECT_EQ(without_ranges(json), to_json(*estimate_memory(plan), plan));
}

TEST_F(EstimateTest, TextHasEveryTermTheBarAndTheVerdict) {
    const Output output = plimsoll({"estimate", "llama-7b-4xa100", "--sources"});
    EXPECT_EQ(output.code, 0) << output.err;
    const auto plan = plan_from_argument("llama-7b-4xa100");
    const auto estimate = estimate_memory(plan->plan);
    for (const Term& term : estimate->stages[0].terms) {
        EXPECT_THAT(output.out, HasSubstr(term.name.substr(0, 30)));
        EXPECT_THAT(output.out, HasSubstr(format_bytes(term.bytes)));
    }
    EXPECT_THAT(output.out, HasSubstr("6,738,415,616 parameters"));
    EXPECT_THAT(output.out, HasSubstr("  PPP"));
    EXPECT_THAT(output.out, HasSubstr(fmt::format("Fits: {} of {}", format_bytes(estimate->stages[0].total()),
                                                  format_bytes(estimate->usable))));
    EXPECT_THAT(output.out, HasSubstr("Rules of thumb"));
    const Output large = plimsoll({"estimate", "llama-3-405b", "--gpus", "8"});
    EXPECT_EQ(large.code, 0);
    EXPECT_THAT(large.out, HasSubstr("Does not fit: "));
}

TEST_F(EstimateTest, WhatAFrameworkDoesOtherwiseIsSaid) {
    const std::vector<std::string> call{"estimate", "llama-7b-4xa100", "--framework",
                                        "megatron", "--set",           "layout.compress_activations=true"};
    const Output text = plimsoll(call);
    EXPECT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("Where this is not the plan to the letter"));
    EXPECT_THAT(text.out, HasSubstr("layout.compress_activations is not in Megatron-LM"));
    auto with_json = call;
    with_json.insert(with_json.begin() + 2, "--json");
    EXPECT_THAT(json_of(plimsoll(with_json))["notes"].dump(), HasSubstr("layout.compress_activations"));
    EXPECT_THAT(plimsoll({"estimate", "llama-7b-4xa100"}).out, ::testing::Not(HasSubstr("not the plan to the letter")));
}

TEST_F(EstimateTest, LiveAndReservedStandBesideTheTotal) {
    const Json json = json_of(plimsoll({"estimate", "llama-7b-4xa100", "--json"}));
    const Json& rank = json["ranks"][0];
    EXPECT_LT(rank["live_bytes"], rank["reserved_bytes"]);
    EXPECT_LT(rank["reserved_bytes"], rank["total_bytes"]);
    const Output text = plimsoll({"estimate", "llama-7b-4xa100"});
    EXPECT_THAT(text.out, HasSubstr(fmt::format("Live tensors {}", format_bytes(rank["live_bytes"].get<Bytes>()))));
    EXPECT_THAT(text.out, HasSubstr("max_memory_reserved"));
}

TEST_F(EstimateTest, TheOptimizersLoopCanBeChosenUnderAnotherFramework) {
    const auto total = [&](const char* loop) {
        return json_of(
                   plimsoll({"estimate", "llama-7b", "--gpu", "v100", "--gpus", "8", "--framework", "deepspeed",
                             "--optimizer-step", loop, "--json", "--set", "layout.zero_stage=2", "numerics.dtype=fp16",
                             "layout.micro_batch=1", "data.sequence_length=512"}))["ranks"][0]["total_bytes"]
            .get<Bytes>();
    };
    EXPECT_LT(total("fused"), total("single"));
    const Output wrong = plimsoll({"estimate", "gpt2", "--framework", "deepspeed", "--optimizer-step", "quick"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("fused, foreach, single"));
    EXPECT_EQ(plimsoll({"estimate", "gpt2", "--optimizer-step", "fused"}).code, 2);
}

TEST_F(EstimateTest, StagesThatDifferEachHaveTheirTable) {
    const Output output = plimsoll({"estimate", "llama-2-70b-64xh100"});
    EXPECT_THAT(output.out, HasSubstr("Stage 0"));
    EXPECT_THAT(output.out, HasSubstr("Stage 1"));
    // (p - 1) / (m + p - 1) with p = 2, m = 64: 1 / 65
    EXPECT_THAT(output.out,
                HasSubstr(fmt::format(
                    "Pipeline bubble: {:.1f} % of the time (1F1B, p = 2, m = 64)",
                    100 * simulate_pipeline(plan_from_argument("llama-2-70b-64xh100")->plan)->timeline.bubble)));
}

TEST_F(EstimateTest, PlanMayStandBehindTheSettings) {
    const Json json = json_of(plimsoll({"estimate", "--json", "--set", "layout.micro_batch=1", "gpt2"}));
    EXPECT_EQ(json["model"]["parameters"], 124439808);  // transformers' GPT2LMHeadModel
}

TEST_F(EstimateTest, WhatDoesNotFitComesWithWhatWouldMakeItFit) {
    const std::vector<std::string> call{"estimate", "llama-7b-4xa100", "--set", "layout.zero_stage=0",
                                        "layout.micro_batch=4"};
    const Output text = plimsoll(call);
    EXPECT_EQ(text.code, 0) << text.err;
    for (const char* part :
         {"Does not fit", "Why", "What would make it fit", "ZeRO-3", "The cheapest that makes it fit"})
        EXPECT_THAT(text.out, HasSubstr(part));

    auto with_json = call;
    with_json.insert(with_json.begin() + 2, "--json");
    const Json json = json_of(plimsoll(with_json));
    ASSERT_FALSE(json["set"].is_null());
    ASSERT_GE(json["remedies"].size(), 5U);
    auto cured = with_json;
    for (const Json& setting : json["set"]["settings"]) cured.push_back(setting.get<std::string>());
    const Json after = json_of(plimsoll(cured));
    EXPECT_FALSE(after.contains("remedies"));
    const auto fullest = [](const Json& estimate) {
        Bytes most = 0;
        for (const Json& stage : estimate["ranks"]) most = std::max(most, stage["total_bytes"].get<Bytes>());
        return most;
    };
    EXPECT_EQ(json["set"]["saves_bytes"].get<Bytes>(), fullest(json) - fullest(after));
}

TEST_F(EstimateTest, RemediesAreShownOfAPlanThatFitsWhenAskedFor) {
    const Output text = plimsoll({"estimate", "llama-7b-4xa100", "--remedies"});
    EXPECT_THAT(text.out, HasSubstr("What would save more"));
    EXPECT_THAT(text.out, HasSubstr("ZeRO-3"));
    const Output silent = plimsoll({"estimate", "llama-7b-4xa100"});
    EXPECT_THAT(silent.out, ::testing::Not(HasSubstr("What would save more")));
}

TEST_F(EstimateTest, LessonsAreListedWorkedOutAndWritten) {
    const Output all = plimsoll({"lessons"});
    EXPECT_EQ(all.code, 0) << all.err;
    for (const char* name : {"llama-7b", "zero-65b", "gpu-selection"}) EXPECT_THAT(all.out, HasSubstr(name));
    const Output text = plimsoll({"lessons", "zero-65b"});
    for (const char* part : {"Worked out", "65,285,660,672", "What is right", "48 GB under ZeRO-2 cannot be"})
        EXPECT_THAT(text.out, HasSubstr(part));
    const Json json = json_of(plimsoll({"lessons", "llama-7b", "--json"}));
    EXPECT_EQ(json["steps"][0]["value"], 56e9);

    const Output wrong = plimsoll({"lessons", "zero-66b"});
    EXPECT_EQ(wrong.code, 2);
    EXPECT_THAT(wrong.err, HasSubstr("zero-65b"));
    EXPECT_EQ(plimsoll({"lessons", "--plan", "plan.json"}).code, 2);

    const auto file = std::filesystem::temp_directory_path() / fmt::format("plimsoll-lesson-{}.json", ::getpid());
    EXPECT_EQ(plimsoll({"lessons", "offload-13b", "--plan", file.string()}).code, 0);
    const Output estimate = plimsoll({"estimate", file.string()});
    EXPECT_THAT(estimate.out, HasSubstr("13,015,864,320 parameters"));
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace plimsoll
