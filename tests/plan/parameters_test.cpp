// SPDX-License-Identifier: Apache-2.0
// Oracle: tests/oracles/param_counts.json, counted on transformers' own models.
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <set>

#include "core/base/json.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/parameters.h"

namespace plimsoll {
namespace {

const Json& oracle() {
    static const Json cases = [] {
        const Result<Json> json = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/param_counts.json");
        return json ? json->at("cases") : Json::array();
    }();
    return cases;
}

std::string type_of(const std::string& model_class) {
    if (model_class == "LlamaForCausalLM") return "llama";
    if (model_class == "GPT2LMHeadModel") return "gpt2";
    if (model_class == "MistralForCausalLM") return "mistral";
    if (model_class == "MixtralForCausalLM") return "mixtral";
    if (model_class == "Qwen2ForCausalLM") return "qwen2";
    return "";
}

TEST(Parameters, EveryDecoderOfTheOracleIsCountedToTheLastParameter) {
    std::set<std::string> families;
    for (const Json& entry : oracle()) {
        const std::string type = type_of(entry.at("model"));
        if (type.empty()) continue;
        SCOPED_TRACE(entry.at("name"));
        Json config = entry.at("config");
        config["model_type"] = type;
        const Result<Model> model = model_from_hf_config(config, "config.json");
        ASSERT_TRUE(model) << model.error().message;
        const ParameterCounts counts = count_parameters(*model);
        EXPECT_EQ(model->num_layers, entry.at("layers"));
        EXPECT_EQ(model->tied_head, entry.at("tie_word_embeddings"));
        EXPECT_EQ(counts.total, entry.at("total"));
        EXPECT_EQ(counts.input_embedding, entry.at("input_embedding"));
        EXPECT_EQ(counts.output_head, entry.at("output_head"));
        EXPECT_EQ(counts.layer, entry.at("per_layer"));
        EXPECT_EQ(counts.positions + counts.final_norm, entry.at("other"));
        EXPECT_EQ(counts.attention + counts.mlp + counts.norms, counts.layer);
        families.insert(type);
    }
    EXPECT_EQ(families, (std::set<std::string>{"gpt2", "llama", "mistral", "mixtral", "qwen2"}));
}

Model t5(const Json& entry) {
    const Json& config = entry.at("config");
    Model model;
    model.family = Family::T5;
    model.hidden_size = config.at("d_model");
    model.num_layers = config.at("num_layers");
    model.num_heads = config.at("num_heads");
    model.num_kv_heads = model.num_heads;
    model.head_dim = config.at("d_kv");
    model.ffn_hidden_size = config.at("d_ff");
    model.vocab_size = config.at("vocab_size");
    model.norm = Norm::RmsNorm;
    model.position = Position::Relative;
    model.activation = config.at("feed_forward_proj") == "gated-gelu" ? Activation::GeGlu : Activation::Relu;
    model.tied_head = entry.at("tie_word_embeddings");
    return model;
}

TEST(Parameters, EveryT5OfTheOracleIsCountedToTheLastParameter) {
    std::size_t found = 0;
    for (const Json& entry : oracle()) {
        if (entry.at("model") != "T5ForConditionalGeneration") continue;
        SCOPED_TRACE(entry.at("name"));
        const Model model = t5(entry);
        const ParameterCounts counts = count_parameters(model);
        EXPECT_EQ(counts.total, entry.at("total"));
        EXPECT_EQ(counts.input_embedding, entry.at("input_embedding"));
        EXPECT_EQ(counts.output_head, entry.at("output_head"));
        EXPECT_EQ(counts.final_norm, entry.at("other"));
        // The oracle's distinct layers: an encoder's without and with the relative biases, then a decoder's.
        const std::int64_t biases = counts.positions / 2;
        EXPECT_EQ(Json({counts.encoder_layer, counts.encoder_layer + biases, counts.layer, counts.layer + biases}),
                  entry.at("per_layer"));
        EXPECT_EQ(counts.layer - counts.encoder_layer, counts.cross_attention);
        ++found;
    }
    EXPECT_EQ(found, 5U);
}

TEST(Parameters, TiedHeadIsCountedOnce) {
    Model model;
    const std::int64_t untied = count_parameters(model).total;
    model.tied_head = true;
    EXPECT_EQ(count_parameters(model).total, untied - model.vocab_size * model.hidden_size);
    EXPECT_EQ(count_parameters(model).output_head, 0);
}

TEST(Parameters, ExpertsAndRouterMakeUpTheMlp) {
    Model model;
    model.family = Family::Mixtral;
    const std::int64_t dense = count_parameters(model).mlp;
    EXPECT_EQ(count_parameters(model).expert, 0);
    model.num_experts = 8;
    EXPECT_EQ(count_parameters(model).expert, dense);
    EXPECT_EQ(count_parameters(model).mlp, 8 * dense + 8 * model.hidden_size);
}

TEST(Parameters, TheLargestAllowedModelSaturatesInsteadOfOverflowing) {
    Model model;
    model.hidden_size = model.ffn_hidden_size = model.vocab_size = model.max_position = 1'000'000'000;
    model.num_heads = model.num_kv_heads = model.head_dim = model.num_experts = 1'000'000;
    model.num_layers = 100'000;
    model.linear_bias = model.qkv_bias = true;
    EXPECT_EQ(count_parameters(model).total, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(count_parameters(model).layer, std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(count_parameters(model).input_embedding, 1'000'000'000'000'000'000);
}

}  // namespace
}  // namespace plimsoll
