// SPDX-License-Identifier: Apache-2.0
// What came with a model goes back with it, but for what would make it another model.
#include "core/plan/hugging_face/kept_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/peft_config.h"
#include "core/plan/plan_io.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

Plan plan_of(const Json& config) {
    Plan plan;
    const auto imported = model_of_config(config, "config.json");
    EXPECT_TRUE(imported) << imported.error().message;
    if (imported) {
        plan.model = imported->model;
        keep_config_keys(plan, imported->config);
    }
    return plan;
}

TEST(KeptKeys, GoThroughAPlansFileAndBack) {
    const Plan plan = plan_of({{"model_type", "llama"},
                               {"hidden_size", 128},
                               {"num_attention_heads", 4},
                               {"bos_token_id", 128000},
                               {"eos_token_id", {128001, 128009}},
                               {"pretraining_tp", 4},
                               {"use_wormholes", {1, 2}},
                               {"transformers_version", "4.40.0"},
                               {"torch_dtype", "bfloat16"}});
    const auto loaded = plan_from_json(to_json(plan), "plan.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(loaded->notes.empty()) << loaded->notes.front();
    EXPECT_EQ(exported_config_keys(loaded->plan), (Json{{"bos_token_id", 128000},
                                                        {"eos_token_id", {128001, 128009}},
                                                        {"pretraining_tp", 4},
                                                        {"use_wormholes", {1, 2}}}));
    Plan other = loaded->plan;
    other.model.family = Family::Mistral;
    EXPECT_TRUE(exported_config_keys(other).empty()) << "of another family";
    other = loaded->plan;
    other.model.preset = "llama-7b";
    EXPECT_TRUE(exported_config_keys(other).empty()) << "of a preset";
    EXPECT_TRUE(exported_config_keys(Plan()).empty());
}

TEST(KeptKeys, WhatIsNotComputedIsNotWrittenBack) {
    const Plan scaled = plan_of({{"model_type", "llama"},
                                 {"bos_token_id", 1},
                                 {"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}},
                                 {"quantization_config", {{"quant_method", "fp8"}}}});
    EXPECT_EQ(exported_config_keys(scaled), (Json{{"bos_token_id", 1}}));
    ASSERT_EQ(kept_findings(scaled).size(), 2U);
    EXPECT_EQ(kept_findings(scaled)[0].key, "rope_scaling");
    const Plan gelu = plan_of({{"model_type", "gpt2"}, {"activation_function", "gelu"}});
    EXPECT_TRUE(exported_config_keys(gelu).empty());
    const Plan fast = plan_of({{"model_type", "gpt2"}, {"activation_function", "gelu_fast"}});
    EXPECT_EQ(exported_config_keys(fast)["activation_function"], "gelu_fast");
}

TEST(KeptKeys, AWindowComesBackWhereTheTrainingHasKeptToIt) {
    Plan plan = plan_of({{"model_type", "mistral"}});  // 4096 by MistralConfig()
    plan.data.sequence_length = 4096;
    EXPECT_EQ(exported_config_keys(plan), (Json{{"sliding_window", 4096}}));
    EXPECT_TRUE(kept_findings(plan).empty());
    plan.data.sequence_length = 4097;
    EXPECT_TRUE(exported_config_keys(plan).empty()) << "full attention was trained";
    EXPECT_EQ(kept_findings(plan).size(), 1U);
    Plan qwen = plan_of(
        {{"model_type", "qwen2"}, {"use_sliding_window", true}, {"sliding_window", 100}, {"max_window_layers", 2}});
    qwen.data.sequence_length = 100;
    EXPECT_EQ(exported_config_keys(qwen).size(), 3U);
    qwen.data.sequence_length = 128;
    EXPECT_TRUE(exported_config_keys(qwen).empty());
}

TEST(KeptKeys, ScalingThatChangesNoAngleOfTheTrainingComesBackForBothReleasesOfTransformers) {
    Plan plan = plan_of(
        {{"model_type", "llama"}, {"rope_theta", 1e4}, {"rope_scaling", {{"type", "dynamic"}, {"factor", 8.0}}}});
    plan.model.rope_theta = 5e5;
    const Json keys = exported_config_keys(plan);
    EXPECT_EQ(keys["rope_scaling"], (Json{{"type", "dynamic"}, {"factor", 8.0}}));
    EXPECT_EQ(keys["rope_parameters"],
              (Json{{"type", "dynamic"}, {"factor", 8.0}, {"rope_type", "dynamic"}, {"rope_theta", 5e5}}));
}

TEST(KeptKeys, OfAnAdapterComeBack) {
    Plan plan;
    plan.adapter.rank = 8;
    const Json config{
        {"peft_type", "LORA"},         {"r", 8},         {"lora_alpha", 16},    {"lora_dropout", 0.05},
        {"revision", "main"},          {"bias", "none"}, {"use_dora", nullptr}, {"peft_version", "0.10.0"},
        {"target_modules", {"q_proj"}}};
    keep_adapter_keys(plan, config);
    const Json written = peft_config(plan_from_json(to_json(plan), "plan.json")->plan);
    EXPECT_EQ(written["lora_dropout"], 0.05);
    EXPECT_EQ(written["revision"], "main");
    EXPECT_EQ(written["lora_alpha"], 32) << "the plan's";
    EXPECT_FALSE(written.contains("peft_version"));
}

}  // namespace
}  // namespace plimsoll
