// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/starting_plan.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

Result<Model> import(const std::string& text) {
    return parse_json(text, "config.json").and_then([](const Json& json) {
        return model_from_hf_config(json, "config.json");
    });
}

std::string error_of(const std::string& text) {
    const Result<Model> model = import(text);
    return model ? "no error" : model.error().message;
}

Model without_names(Model model) {
    model.preset.clear();
    model.name.clear();
    return model;
}

TEST(HfConfig, LlamaThreeIsThePreset) {
    // config.json of meta-llama/Meta-Llama-3-8B.
    const Result<Model> model = import(R"({"architectures": ["LlamaForCausalLM"], "attention_bias": false,
        "attention_dropout": 0.0, "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "silu",
        "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 8192,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 500000.0,
        "tie_word_embeddings": false, "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 128256})");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(without_names(*model), without_names(*model_preset("llama-3-8b")));
    EXPECT_EQ(model->name, "llama 8.03 B");
}

TEST(HfConfig, Gpt2WithAllKeysMissingIsTheSmallOne) {
    const Result<Model> model = import(R"({"model_type": "gpt2"})");
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(without_names(*model), without_names(*model_preset("gpt2")));
}

TEST(HfConfig, MissingKeysTakeTransformersDefaults) {
    // LlamaConfig(), MistralConfig(), MixtralConfig() and Qwen2Config() of transformers.
    const Model llama = *import(R"({"model_type": "llama", "num_attention_heads": 64})");
    EXPECT_EQ(llama.num_kv_heads, 64) << "as many as heads";
    EXPECT_EQ(llama.norm_eps, 1e-6);
    EXPECT_FALSE(llama.tied_head);
    EXPECT_EQ(import(R"({"model_type": "llama"})").map(count_parameters)->total, 6'738'415'616);
    const Model mistral = *import(R"({"model_type": "mistral"})");
    EXPECT_EQ(mistral.num_kv_heads, 8);
    EXPECT_EQ(mistral.ffn_hidden_size, 14336);
    const Model mixtral = *import(R"({"model_type": "mixtral"})");
    EXPECT_EQ(mixtral.num_experts, 8);
    EXPECT_EQ(mixtral.experts_per_token, 2);
    EXPECT_EQ(mixtral.rope_theta, 1e6);
    EXPECT_EQ(mixtral.router_aux_loss, 0.001);
    EXPECT_EQ(import(R"({"model_type": "mixtral", "router_aux_loss_coef": 0.02})")->router_aux_loss, 0.02);
    const Model qwen2 = *import(R"({"model_type": "qwen2"})");
    EXPECT_TRUE(qwen2.qkv_bias);
    EXPECT_FALSE(qwen2.linear_bias);
    EXPECT_EQ(qwen2.vocab_size, 151936);
}

TEST(HfConfig, EveryImportedFamilyIsAPossibleModel) {
    for (const char* type : {"gpt2", "llama", "mistral", "mixtral", "qwen2"}) {
        const Result<Model> model = import(fmt::format(R"({{"model_type": "{}"}})", type));
        ASSERT_TRUE(model) << type;
        for (const Problem& problem : check_plan(starting_plan(*model)))
            ADD_FAILURE() << type << ": " << problem.sentence;
    }
}

TEST(HfConfig, NullIsTheSameAsMissing) {
    EXPECT_EQ(import(R"({"model_type": "gpt2", "n_inner": null})")->ffn_hidden_size, 3072);
    EXPECT_EQ(import(R"({"model_type": "llama", "head_dim": null, "num_key_value_heads": null})")->num_kv_heads, 32);
}

TEST(HfConfig, HeadDimIsKeptWhereItDiffersFromHiddenOverHeads) {
    EXPECT_EQ(import(R"({"model_type": "mistral", "hidden_size": 5120, "head_dim": 128})")->head_dim, 128);
    EXPECT_EQ(import(R"({"model_type": "mistral", "head_dim": 128})")->head_dim, 0);
}

TEST(HfConfig, TheRotaryBaseIsFoundWhereNewReleasesKeepIt) {
    EXPECT_EQ(import(R"({"model_type": "llama", "rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}})")
                  ->rope_theta,
              5e5);
    EXPECT_EQ(error_of(R"({"model_type": "llama", "rope_parameters": {"rope_theta": "big"}})"),
              "config.json: rope_parameters: rope_theta is \"big\"; a number is needed (above 0, up to 1e+12)");
}

TEST(HfConfig, BiasesOfLlamaAreAllOrNone) {
    const Model both = *import(R"({"model_type": "llama", "attention_bias": true, "mlp_bias": true})");
    EXPECT_TRUE(both.qkv_bias && both.linear_bias);
    const auto some = model_of_config(Json{{"model_type", "llama"}, {"attention_bias", true}}, "config.json");
    ASSERT_TRUE(some) << some.error().message;
    EXPECT_FALSE(some->model.qkv_bias || some->model.linear_bias);
    ASSERT_EQ(some->findings.size(), 1U);
    EXPECT_THAT(some->findings[0].sentence, HasSubstr("attention_bias is true and mlp_bias is false"));
}

TEST(HfConfig, TwoNamesOfOneKeyHaveToAgree) {
    EXPECT_EQ(import(R"({"model_type": "gpt2", "n_embd": 96, "hidden_size": 96})")->hidden_size, 96);
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "n_embd": 96, "hidden_size": 1024})"),
                HasSubstr("n_embd is 96 and hidden_size is 1024"));
    EXPECT_THAT(error_of(R"({"model_type": "llama", "rope_theta": 5e5, "rope_parameters": {"rope_theta": 1e4}})"),
                HasSubstr("rope_theta is 500000 and that of rope_parameters is 10000"));
    EXPECT_EQ(import(R"({"model_type": "mixtral", "num_experts": 4})")->num_experts, 4) << "its attribute_map";
}

TEST(HfConfig, OwnCheckpointsOfModelsThatTransformersHasNotAreRead) {
    const Model model = *import(R"({"model_type": "plimsoll", "family": "llama", "norm_placement": "sandwich",
        "qk_norm": true, "hidden_size": 128, "num_attention_heads": 4})");
    EXPECT_EQ(model.norm_placement, NormPlacement::Sandwich);
    EXPECT_TRUE(model.qk_norm);
    EXPECT_EQ(model.hidden_size, 128);
}

TEST(HfConfig, WhatAPlanCannotSayIsRefusedByName) {
    EXPECT_THAT(error_of(R"({"model_type": "llama", "hidden_act": "gelu"})"),
                HasSubstr("hidden_act is \"gelu\"; allowed: silu"));
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "activation_function": "tanh"})"),
                HasSubstr("activation_function is \"tanh\""));
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "attn_pdrop": 0})"),
                HasSubstr("attn_pdrop is 0 and resid_pdrop is 0.1"));
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "add_cross_attention": true})"), HasSubstr("add_cross_attention"));
    EXPECT_THAT(error_of(R"({"model_type": "mistral", "attention_dropout": 0.1})"),
                HasSubstr("attention_dropout is 0.1"));
}

TEST(HfConfig, WrongTypesNameTheKey) {
    EXPECT_EQ(error_of(R"({"model_type": "llama", "hidden_size": "4096"})"),
              "config.json: hidden_size is \"4096\"; a whole number from 1 to 1,000,000,000 is needed");
    EXPECT_EQ(error_of(R"({"model_type": "gpt2", "n_layer": -1})"),
              "config.json: n_layer is -1; a whole number from 1 to 100,000 is needed");
    EXPECT_EQ(error_of(R"({"model_type": "llama", "tie_word_embeddings": "no"})"),
              "config.json: tie_word_embeddings is \"no\"; true or false is needed");
    EXPECT_THAT(error_of(R"({"model_type": "llama", "rms_norm_eps": []})"),
                HasSubstr("rms_norm_eps is []; a number is needed"));
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "activation_function": 1})"),
                HasSubstr("activation_function is 1; text"));
    EXPECT_THAT(error_of(R"({"model_type": "gpt2", "n_embd": 9223372036854775807})"), HasSubstr("n_embd is"));
}

TEST(HfConfig, AnUnknownTypeListsThoseThatAreKnown) {
    EXPECT_EQ(error_of(R"({"model_type": "qwen3"})"),
              "config.json: model_type is \"qwen3\"; allowed: gpt2, llama, mistral, mixtral, qwen2 "
              "(plimsoll architecture counts more families)");
    EXPECT_THAT(error_of(R"({"model_type": 5})"), HasSubstr("model_type is 5; allowed: gpt2"));
    EXPECT_THAT(error_of("{}"), HasSubstr("does not say its model_type"));
    EXPECT_THAT(error_of("[]"), HasSubstr("is an object"));
    EXPECT_THAT(error_of(R"({"plimsoll": 1})"), HasSubstr("is a plan"));
    EXPECT_TRUE(import(R"({"architectures": ["Qwen2ForCausalLM"]})"));
}

TEST(HfConfig, AHintIsForASlipAndNeverForAnotherFamily) {
    // Every model_type of transformers 5.24 within two letters of one that is known, and others that people have.
    for (const char* other :
         {"llama4",  "llava",     "mllama",   "flava",   "ministral", "mistral3",   "mistral4", "pixtral",
          "voxtral", "qwen3",     "gptj",     "gpt_neo", "mpt",       "opt",        "git",      "gte",
          "dpt",     "qwen2_moe", "qwen2_vl", "gemma2",  "llama2",    "deepseek_v3"}) {
        EXPECT_THAT(error_of(fmt::format(R"({{"model_type": "{}"}})", other)),
                    testing::AllOf(HasSubstr(other), testing::Not(HasSubstr("did you mean"))));
    }
    const std::pair<const char*, const char*> slips[] = {
        {"lama", "llama"}, {"Llama", "llama"}, {"mistrall", "mistral"}, {"qwem2", "qwen2"}, {"gpt-2", "gpt2"}};
    for (const auto& [slip, meant] : slips) {
        EXPECT_THAT(error_of(fmt::format(R"({{"model_type": "{}"}})", slip)),
                    HasSubstr(fmt::format("did you mean \"{}\"?", meant)));
    }
}

TEST(HfConfig, NoMutilatedConfigCrashesTheImport) {
    const std::string text =
        R"({"model_type": "mixtral", "hidden_size": 4096, "num_attention_heads": 32, "head_dim": 128,
        "num_key_value_heads": 8, "vocab_size": 32000, "rope_theta": 1e6, "num_local_experts": 8, "_name_or_path": "a/b"})";
    std::mt19937 random(3);
    static constexpr std::string_view bytes = "{}[]\",:0179.eE-+ntf/\\\xff";
    for (int i = 0; i < 3000; ++i) {
        std::string broken = text;
        for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
            broken[random() % broken.size()] = bytes[random() % bytes.size()];
        }
        const Result<Model> model = import(broken);
        if (model) {
            check_plan(starting_plan(*model));
        } else {
            EXPECT_FALSE(model.error().message.empty());
        }
    }
}

}  // namespace
}  // namespace plimsoll
