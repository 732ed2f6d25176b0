// SPDX-License-Identifier: Apache-2.0
// Every key of a config.json has its place: none that changes the model is dropped in silence.
#include "core/plan/hugging_face/config_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/plan/hugging_face/hf_config.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Weight = KeyFinding::Weight;

constexpr Family families[] = {Family::Gpt2, Family::Llama, Family::Mistral, Family::Mixtral, Family::Qwen2};

Json config_of(Family family) {
    Json config{{"model_type", name_of(family)}};
    // MistralConfig() has a window.
    if (family == Family::Mistral) config["sliding_window"] = nullptr;
    return config;
}

Result<ImportedModel> with(Family family, const std::string& key, const Json& value) {
    Json config = config_of(family);
    config[key] = value;
    return model_of_config(config, "config.json");
}

KeyFindings found(const Json& config) {
    const auto imported = model_of_config(config, "config.json");
    EXPECT_TRUE(imported) << imported.error().message;
    return imported ? imported->findings : KeyFindings{};
}

/// Values that are unlike the defaults and fit each understood key.
const std::map<std::string_view, Json> understood{
    {"model_type", "mamba"},
    {"vocab_size", 1234},
    {"initializer_range", 0.5},
    {"_name_or_path", "a/name"},
    {"num_hidden_layers", 3},
    {"n_layer", 3},
    {"num_attention_heads", 2},
    {"n_head", 2},
    {"hidden_size", 96},
    {"n_embd", 96},
    {"max_position_embeddings", 77},
    {"n_positions", 77},
    {"n_inner", 55},
    {"intermediate_size", 55},
    {"layer_norm_epsilon", 0.25},
    {"rms_norm_eps", 0.25},
    {"resid_pdrop", 0.5},
    {"embd_pdrop", 0.5},
    {"attn_pdrop", 0.5},
    {"num_key_value_heads", 2},
    {"head_dim", 6},
    {"rope_theta", 77},
    {"hidden_act", "gelu"},
    {"attention_dropout", 0.5},
    {"num_local_experts", 3},
    {"num_experts", 3},
    {"num_experts_per_tok", 3},
    {"router_aux_loss_coef", 0.5},
};

/// Values that ask for what a judged key asks for.
const std::map<std::string_view, Json> judged{
    {"architectures", {"GemmaForCausalLM"}},
    {"sliding_window", 7},
    {"layer_types", {"full_attention", "chunked_attention"}},
    {"n_ctx", 7},
    {"activation_function", "gelu"},
    {"scale_attn_weights", false},
    {"rope_scaling", {{"type", "linear"}, {"factor", 2}}},
    {"rope_parameters", {{"rope_type", "yarn"}, {"factor", 2}}},
    {"attention_bias", true},
    {"mlp_bias", true},
    {"pruned_heads", {{"1", {0}}}},
};

TEST(ConfigKeys, EachHasOnePlaceAndAReason) {
    for (const Family family : families) {
        std::set<std::string_view> names;
        for (const FileKey& row : config_keys(family)) {
            EXPECT_TRUE(names.insert(row.name).second) << name_of(family) << " has two rows for " << row.name;
            EXPECT_FALSE(row.reason.empty()) << row.name;
        }
    }
}

TEST(ConfigKeys, UnderstoodKeysChangeTheModelOrAreRefused) {
    for (const Family family : families) {
        const Model usual = model_of_config(config_of(family), "it")->model;
        for (const FileKey& row : config_keys(family)) {
            if (row.use != KeyUse::Understood || row.name.ends_with("dtype")) continue;
            const std::string key(row.name);
            const Json value = key == "tie_word_embeddings" ? Json(!usual.tied_head) : understood.at(row.name);
            const auto changed = with(family, key, value);
            if (changed) {
                EXPECT_FALSE(changed->model == usual) << name_of(family) << " drops " << key;
            } else {
                EXPECT_THAT(changed.error().message, HasSubstr(key));
            }
        }
    }
}

TEST(ConfigKeys, HarmlessAndKeptKeysChangeNothing) {
    for (const Family family : families) {
        const Model usual = model_of_config(config_of(family), "it")->model;
        for (const FileKey& row : config_keys(family)) {
            if (row.use != KeyUse::Harmless && row.use != KeyUse::Kept) continue;
            const auto same = with(family, std::string(row.name), 7);
            ASSERT_TRUE(same) << same.error().message;
            EXPECT_EQ(same->model, usual) << row.name;
            EXPECT_TRUE(same->findings.empty()) << same->findings.front().sentence;
        }
    }
}

TEST(ConfigKeys, JudgedKeysAreFoundByNameWhereTheyAskForSomething) {
    for (const Family family : families) {
        for (const FileKey& row : config_keys(family)) {
            if (row.use != KeyUse::Judged) continue;
            const std::string key(row.name);
            // Both are judged with the window that they belong to.
            if (key == "use_sliding_window" || key == "max_window_layers") continue;
            if (family == Family::Qwen2 && (key == "sliding_window" || key == "attention_bias")) continue;
            const auto value = judged.find(row.name);
            const auto asked = with(family, key, value != judged.end() ? value->second : Json(3));
            if (asked) {
                ASSERT_EQ(asked->findings.size(), 1U) << name_of(family) << " drops " << key;
                EXPECT_EQ(asked->findings[0].key, key);
                EXPECT_THAT(asked->findings[0].sentence, HasSubstr(key));
            } else {
                EXPECT_THAT(asked.error().message, HasSubstr(key));
            }
            const auto nothing = with(family, key, nullptr);
            ASSERT_TRUE(nothing) << nothing.error().message;
            EXPECT_TRUE(nothing->findings.empty()) << nothing->findings.front().sentence;
        }
    }
}

TEST(ConfigKeys, AnUnknownKeyIsToldByName) {
    for (const Family family : families) {
        const auto imported = with(family, "use_wormholes", false);
        ASSERT_TRUE(imported) << imported.error().message;
        ASSERT_EQ(imported->findings.size(), 1U);
        EXPECT_EQ(imported->findings[0].weight, Weight::Told);
        EXPECT_THAT(imported->notes().front(), HasSubstr("use_wormholes is false, a key that is not known"));
    }
}

TEST(ConfigKeys, ScaledRotaryPositionsAreFoundWhereTheyChangeAnAngle) {
    const auto rope = [](const char* key, const Json& value) {
        return found(Json{{"model_type", "llama"}, {key, value}});
    };
    const Json llama3{{"rope_type", "llama3"},   {"factor", 32.0},        {"low_freq_factor", 1.0},
                      {"high_freq_factor", 4.0}, {"rope_theta", 10000.0}, {"original_max_position_embeddings", 64}};
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        const KeyFindings scaled = rope(key, llama3);
        ASSERT_EQ(scaled.size(), 1U);
        EXPECT_EQ(scaled[0].weight, Weight::NotComputed);
        EXPECT_EQ(scaled[0].up_to, 0);
        EXPECT_THAT(scaled[0].sentence, HasSubstr(fmt::format("{} is of type llama3 with factor 32.0", key)));
    }
    EXPECT_EQ(rope("rope_scaling", {{"type", "linear"}, {"factor", 2.0}}).size(), 1U);
    EXPECT_EQ(rope("rope_scaling", {{"type", "yarn"}, {"factor", 2.0}}).size(), 1U);
    EXPECT_EQ(rope("rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}).size(), 1U);
    EXPECT_EQ(rope("rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}).size(), 1U);
    EXPECT_THAT(with(Family::Llama, "rope_scaling", "linear").error().message, HasSubstr("rope_scaling is \"linear\""));
    // No angle changes: factor 1, and NTK scaling, which begins behind max_position_embeddings
    // (transformers' _compute_dynamic_ntk_parameters).
    EXPECT_TRUE(rope("rope_scaling", {{"type", "linear"}, {"factor", 1.0}}).empty());
    EXPECT_TRUE(rope("rope_scaling", {{"type", "dynamic"}, {"factor", 8.0}}).empty());
    EXPECT_TRUE(rope("rope_parameters", {{"rope_type", "default"}, {"rope_theta", 5e5}}).empty());
    EXPECT_TRUE(rope("rope_scaling", nullptr).empty());
}

TEST(ConfigKeys, AWindowIsThatOfTheFamilysClass) {
    const auto window = [](const Json& config) {
        for (const KeyFinding& each : found(config)) {
            if (each.key == "sliding_window") return each.up_to;
        }
        return std::int64_t{0};
    };
    EXPECT_EQ(window({{"model_type", "mistral"}}), 4096) << "MistralConfig()";
    EXPECT_EQ(window({{"model_type", "mistral"}, {"sliding_window", nullptr}}), 0);
    EXPECT_EQ(window({{"model_type", "mistral"}, {"sliding_window", 1000}}), 1000);
    EXPECT_EQ(window({{"model_type", "mistral"}, {"max_position_embeddings", 4096}}), 0) << "no position beyond";
    EXPECT_EQ(window({{"model_type", "mixtral"}}), 0) << "MixtralConfig()";
    EXPECT_EQ(window({{"model_type", "mixtral"}, {"sliding_window", 1000}}), 1000);
    // Qwen2Config(): off, 4096, from layer 28 on.
    EXPECT_EQ(window({{"model_type", "qwen2"}, {"sliding_window", 1000}}), 0);
    const Json on{{"model_type", "qwen2"}, {"use_sliding_window", true}};
    EXPECT_EQ(window(on), 4096);
    Json fewer = on;
    fewer["num_hidden_layers"] = 28;
    EXPECT_EQ(window(fewer), 0);
    fewer["max_window_layers"] = 12;
    EXPECT_EQ(window(fewer), 4096);
    fewer["sliding_window"] = 32768;
    EXPECT_EQ(window(fewer), 0) << "as long as max_position_embeddings";
    Json types = on;
    types["num_hidden_layers"] = 2;
    types["layer_types"] = {"full_attention", "full_attention"};
    EXPECT_EQ(window(types), 0);
    types["layer_types"] = {"full_attention", "sliding_attention"};
    EXPECT_EQ(window(types), 4096);
}

TEST(ConfigKeys, FilesOfOtherModelsAreRefusedByWhatGivesThemAway) {
    // Qwen3's file under another model_type: Qwen2 has no key attention_bias, and its q, k and v have biases.
    EXPECT_THAT(with(Family::Qwen2, "attention_bias", false).error().message, HasSubstr("qwen3 has the key"));
    EXPECT_THAT(with(Family::Llama, "architectures", {"Qwen3ForCausalLM"}).error().message,
                HasSubstr("architectures is [\"Qwen3ForCausalLM\"], which is no class of the model_type llama"));
    EXPECT_THAT(with(Family::Llama, "n_routed_experts", 64).error().message, HasSubstr("n_routed_experts is 64"));
    EXPECT_TRUE(with(Family::Llama, "architectures", {"LlamaModel"})->findings.empty());
    const auto head = with(Family::Llama, "architectures", {"LlamaForSequenceClassification"});
    ASSERT_TRUE(head);
    EXPECT_THAT(head->findings.at(0).sentence, HasSubstr("not that of this class"));
}

TEST(ConfigKeys, WhatChangesTheNumbersIsFound) {
    const auto one = [](Family family, const std::string& key, const Json& value, const std::string& words) {
        const auto imported = with(family, key, value);
        ASSERT_TRUE(imported) << imported.error().message;
        ASSERT_EQ(imported->findings.size(), 1U) << key;
        EXPECT_EQ(imported->findings[0].weight, Weight::NotComputed);
        EXPECT_THAT(imported->findings[0].sentence, HasSubstr(words));
        EXPECT_THAT(imported->notes().back(), HasSubstr("cannot start from the weights"));
    };
    one(Family::Gpt2, "scale_attn_by_inverse_layer_idx", true, "divided by the layer's number");
    one(Family::Gpt2, "activation_function", "gelu", "tanh form");
    one(Family::Llama, "quantization_config", {{"quant_method", "fp8"}}, "stored quantized");
    one(Family::Llama, "attn_logit_softcapping", 50.0, "a cap on the scores");
    one(Family::Llama, "torch_dtype", "float8_e4m3fn", "float32, float16 or bfloat16");
    for (const char* tanh : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"})
        EXPECT_TRUE(with(Family::Gpt2, "activation_function", tanh)->findings.empty()) << tanh;
    for (const char* same : {"logit_scale", "residual_multiplier", "partial_rotary_factor"})
        EXPECT_TRUE(with(Family::Llama, same, 1.0)->findings.empty()) << same;
    for (const char* dtype : {"float16", "torch.bfloat16", "auto"})
        EXPECT_TRUE(with(Family::Llama, "torch_dtype", dtype)->findings.empty()) << dtype;
}

}  // namespace
}  // namespace plimsoll
