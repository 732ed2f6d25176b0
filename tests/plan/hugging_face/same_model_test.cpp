// SPDX-License-Identifier: Apache-2.0
// Weights of another model are refused by what differs, with the settings that take their values.
#include "core/plan/hugging_face/same_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SameModel : public testing::Test {
protected:
    SameModel() {
        config = {{"model_type", "llama"},           {"hidden_size", 128},       {"num_hidden_layers", 4},
                  {"num_attention_heads", 4},        {"num_key_value_heads", 2}, {"intermediate_size", 344},
                  {"max_position_embeddings", 2048}, {"rms_norm_eps", 1e-5},     {"vocab_size", 256}};
        plan.model = *model_from_hf_config(config, "config.json");
    }
    std::string error() {
        EXPECT_TRUE(write_json(folder / "config.json", config));
        const auto same = require_same_model(folder / "config.json", plan, "the model in X (model.weights)");
        return same ? "" : same.error().message;
    }

    TempFolder folder;
    Json config;
    Plan plan;
};

TEST_F(SameModel, TheSameIsTaken) {
    EXPECT_EQ(error(), "");
    config["initializer_range"] = 0.5;  // of the training
    config["use_wormholes"] = true;     // told, see weights_warnings()
    config["head_dim"] = 32;            // hidden_size / num_attention_heads
    EXPECT_EQ(error(), "");
    plan.model.router_aux_loss = plan.model.dropout = 0.5;
    plan.model.experts_per_token = 7;
    EXPECT_EQ(error(), "");
}

TEST_F(SameModel, EachDifferenceIsNamedWithTheSettingThatMendsIt) {
    config["rope_theta"] = 500000.0;
    config["rms_norm_eps"] = 1e-6;
    config["tie_word_embeddings"] = true;
    config["attention_bias"] = config["mlp_bias"] = true;
    const std::string sentence = error();
    EXPECT_THAT(sentence, AllOf(HasSubstr("model.rope_theta is 500000.0 there and 10000.0 in the plan"),
                                HasSubstr("model.norm_eps is 1e-06 there and 1e-05 in the plan"),
                                HasSubstr("model.tied_head is true there"), HasSubstr("model.qkv_bias is true there")));
    // The command line does what it says.
    std::vector<std::string> settings;
    for (auto at = sentence.find("--set "); at != std::string::npos; at = sentence.find("--set ", at + 1))
        settings.push_back(sentence.substr(at + 6, sentence.find(' ', at + 6) - at - 6));
    EXPECT_EQ(settings.size(), 5U);
    const auto changed = with_settings(plan, settings);
    ASSERT_TRUE(changed) << changed.error().message;
    plan = *changed;
    EXPECT_EQ(error(), "");
}

TEST_F(SameModel, AnotherFamilyIsTakenByOneCommandLineToo) {
    config["model_type"] = "qwen2";
    EXPECT_THAT(error(), AllOf(HasSubstr("model.family is \"qwen2\" there and \"llama\" in the plan"),
                               HasSubstr("--set model.family=qwen2"), HasSubstr("--set model.qkv_bias=true")));
}

TEST_F(SameModel, WhatTheEngineDoesNotComputeIsNoMatterOfSettings) {
    const std::pair<const char*, Json> keys[] = {
        {"rope_scaling", {{"rope_type", "llama3"}, {"factor", 8.0}}},
        {"quantization_config", {{"quant_method", "fp8"}}},
        {"architectures", {"LlamaForSequenceClassification"}},
        {"attention_bias", true},
        {"num_nextn_predict_layers", 1},
        {"hidden_act", "gelu"},
    };
    const Json good = config;
    for (const auto& [key, value] : keys) {
        config = good;
        config[key] = value;
        EXPECT_THAT(error(),
                    AllOf(HasSubstr("the engine cannot run the model in X"), HasSubstr(key), Not(HasSubstr("--set"))))
            << key;
    }
}

TEST_F(SameModel, ParamsOfMetaAreComparedToo) {
    // params.json of Llama-3.1-8B.
    config = Json::parse(R"({"dim": 4096, "n_layers": 32, "n_heads": 32, "n_kv_heads": 8, "vocab_size": 128256,
        "ffn_dim_multiplier": 1.3, "multiple_of": 1024, "norm_eps": 1e-05, "rope_theta": 500000.0,
        "use_scaled_rope": true})");
    EXPECT_THAT(error(), AllOf(HasSubstr("the engine cannot run"), HasSubstr("rope_scaling is of type llama3")));
    config["use_scaled_rope"] = false;
    plan.model = *model_preset("llama-3-8b");
    EXPECT_EQ(error(), "");
    config["norm_eps"] = 1e-6;
    EXPECT_THAT(error(), HasSubstr("--set model.norm_eps=1e-06"));
    // Those of Mistral-7B-v0.3.
    config = Json::parse(R"({"dim": 4096, "n_layers": 32, "head_dim": 128, "hidden_dim": 14336, "n_heads": 32,
        "n_kv_heads": 8, "norm_eps": 1e-05, "vocab_size": 32768, "rope_theta": 1000000.0})");
    plan.model = *model_from_hf_config(config, "params.json");
    EXPECT_EQ(plan.model.family, Family::Mistral);
    EXPECT_EQ(plan.model.ffn_hidden_size, 14336);
    plan.model.max_position = 7;
    EXPECT_EQ(error(), "") << "the file does not say it";
}

TEST_F(SameModel, AWindowLimitsTheSequences) {
    config["model_type"] = "mistral";
    config["sliding_window"] = 64;
    plan.model = *model_from_hf_config(config, "config.json");
    plan.data.sequence_length = 64;
    EXPECT_EQ(error(), "");
    plan.data.sequence_length = 65;
    EXPECT_THAT(error(), AllOf(HasSubstr("sliding_window is 64"), HasSubstr("--set data.sequence_length=64")));
}

TEST_F(SameModel, UnknownKeysAndLostDigitsAreWarnings) {
    config["use_wormholes"] = true;
    config["torch_dtype"] = "float32";
    EXPECT_EQ(error(), "");
    plan.numerics.dtype = Dtype::Bf16;
    const auto warnings = weights_warnings(folder / "config.json", plan);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_THAT(warnings[0], HasSubstr("use_wormholes is true"));
    EXPECT_THAT(warnings[1], HasSubstr("torch_dtype is float32 and numerics.dtype is bf16"));
    plan.numerics.dtype = Dtype::Fp32;
    EXPECT_EQ(weights_warnings(folder / "config.json", plan).size(), 1U);
    config["torch_dtype"] = "bfloat16";
    EXPECT_EQ(dtype_note(config, plan), "") << "fp32 holds every bfloat16";
}

}  // namespace
}  // namespace plimsoll
