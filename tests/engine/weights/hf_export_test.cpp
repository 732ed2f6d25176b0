// SPDX-License-Identifier: Apache-2.0
#include "core/engine/weights/hf_export.h"
#include "core/base/json.h"

#include <gtest/gtest.h>

#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

TEST(HfExport, ImportGivesTheModelBack) {
    int tried = 0;
    for (const std::string& name : model_preset_names()) {
        Plan plan;
        plan.model = model_preset(name).value();
        if (plan.model.encoder_decoder()) continue;
        const auto back = model_from_hf_config(hf_config(plan), name);
        ASSERT_TRUE(back) << back.error().message;
        Model expected = plan.model;
        expected.name = back->name;
        expected.preset = back->preset;
        if (expected.family != Family::Gpt2) expected.dropout = 0;
        EXPECT_EQ(*back, expected) << name;
        ++tried;
    }
    EXPECT_GT(tried, 15);
}

TEST(HfExport, WritesBackWhatCameWithTheModel) {
    // As transformers 4.44 wrote it, every key beside those of the plan.
    const Json came{{"model_type", "mistral"},
                    {"hidden_size", 128},
                    {"num_attention_heads", 4},
                    {"num_key_value_heads", 2},
                    {"intermediate_size", 96},
                    {"vocab_size", 300},
                    {"num_hidden_layers", 2},
                    {"bos_token_id", 1},
                    {"eos_token_id", 2},
                    {"pad_token_id", 11},
                    {"use_cache", false},
                    {"sliding_window", 4096},
                    {"max_position_embeddings", 32768},
                    {"rope_theta", 1e6},
                    {"rms_norm_eps", 1e-5},
                    {"some_tools_key", {{"a", 1}}}};
    Plan plan;
    const auto imported = model_of_config(came, "config.json");
    ASSERT_TRUE(imported) << imported.error().message;
    plan.model = imported->model;
    keep_config_keys(plan, imported->config);
    const Json written = hf_config(plan);
    for (const auto& [key, value] : came.items()) EXPECT_EQ(written[key], value) << key;
    EXPECT_EQ(written["torch_dtype"], "float32");
    const auto back = model_of_config(written, "it");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->model, imported->model);
}

TEST(HfExport, OwnModelsComeBackFromTheirCheckpoints) {
    Plan plan = small_plan("llama-7b");
    plan.model.norm_placement = NormPlacement::DeepNorm;
    plan.model.qk_norm = true;
    const auto back = model_from_hf_config(hf_config(plan), "it");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->norm_placement, NormPlacement::DeepNorm);
    EXPECT_TRUE(back->qk_norm);
    EXPECT_EQ(back->family, Family::Llama);
}

TEST(HfExport, SaysWhatDiffersFromTheFamilysDefaults) {
    Plan plan = small_plan("mistral-7b");
    plan.model.head_dim = 6;
    plan.model.rope_theta = 5e5;
    plan.numerics.dtype = Dtype::Bf16;
    const Json config = hf_config(plan);
    EXPECT_EQ(config["architectures"], Json({"MistralForCausalLM"}));
    EXPECT_EQ(config["head_dim"], 6);
    EXPECT_EQ(config["rope_theta"], 5e5);
    EXPECT_EQ(config["rope_parameters"]["rope_theta"], 5e5);
    EXPECT_TRUE(config["sliding_window"].is_null());  // MistralConfig() has a window of 4096
    EXPECT_EQ(config["torch_dtype"], "bfloat16");

    Plan gpt2 = small_plan("gpt2");
    gpt2.model.dropout = 0.1;
    gpt2.model.activation = Activation::Relu;
    gpt2.model.tied_head = false;
    const Json other = hf_config(gpt2);
    EXPECT_EQ(other["activation_function"], "relu");
    EXPECT_EQ(other["attn_pdrop"], 0.1);
    EXPECT_EQ(other["tie_word_embeddings"], false);
}

}  // namespace
}  // namespace plimsoll::engine
