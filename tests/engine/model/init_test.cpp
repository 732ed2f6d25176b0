// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/init.h"

#include <gtest/gtest.h>

#include "tests/support/small_models.h"

namespace plimsoll::engine {
namespace {

using torch::Tensor;

std::map<std::string, Tensor> initial(const Plan& plan, std::uint64_t seed) {
    std::map<std::string, Tensor> weights;
    for (const auto& item : make_decoder(plan, seed)->named_parameters()) weights[item.key()] = item.value().detach();
    return weights;
}

TEST(Init, MatricesAreNormalNormsOneBiasesZero) {
    Plan plan;
    plan.model = model_preset("gpt2-tiny").value();
    for (const auto& [name, weight] : initial(plan, 1)) {
        if (weight.dim() == 1) {
            EXPECT_TRUE((weight == (name.ends_with("bias") ? 0 : 1)).all().item<bool>()) << name;
            continue;
        }
        // 4 layers: projections onto the residual stream are smaller by 1 / sqrt(8).
        const double deviation = name.ends_with("c_proj.weight") ? 0.02 / std::sqrt(8.0) : 0.02;
        const double n = static_cast<double>(weight.numel());
        EXPECT_NEAR(weight.mean().item<double>(), 0, 4 * deviation / std::sqrt(n)) << name;
        EXPECT_NEAR(weight.std().item<double>(), deviation, 4 * deviation / std::sqrt(2 * n)) << name;
        const Tensor z = weight / deviation;
        EXPECT_NEAR((z.abs() < 1).to(torch::kDouble).mean().item<double>(), 0.6827, 2 / std::sqrt(n)) << name;
        EXPECT_NEAR(z.pow(4).mean().item<double>(), 3, 40 / std::sqrt(n)) << name;  // kurtosis of a normal
        EXPECT_LT(z.abs().max().item<double>(), 6);
    }
}

TEST(Init, ResidualProjectionsOfLlamaAreSmaller) {
    Plan plan;
    plan.model = model_preset("llama-tiny").value();
    const auto weights = initial(plan, 1);
    for (const std::string name : {"self_attn.o_proj", "mlp.down_proj"}) {
        EXPECT_NEAR(weights.at("model.layers.2." + name + ".weight").std().item<double>(), 0.02 / std::sqrt(8.0), 3e-4);
    }
    EXPECT_NEAR(weights.at("model.layers.2.mlp.gate_proj.weight").std().item<double>(), 0.02, 5e-4);
}

double deviation_of(const std::map<std::string, Tensor>& weights, const std::string& name) {
    return weights.at(name).std().item<double>();
}

TEST(Init, SchemesHaveTheirDeviations) {
    Plan plan;
    plan.model = model_preset("llama-tiny").value();  // 4 layers
    const std::string layer = "model.layers.1.";
    plan.model.init = Init::Plain;
    EXPECT_NEAR(deviation_of(initial(plan, 1), layer + "self_attn.o_proj.weight"), 0.02, 5e-4);
    plan.model.init = Init::Guide;
    plan.model.init_std = 0.05;
    const auto guide = initial(plan, 1);
    EXPECT_NEAR(deviation_of(guide, layer + "self_attn.o_proj.weight"), 1 / std::sqrt(8.0), 0.01);
    EXPECT_NEAR(deviation_of(guide, layer + "mlp.down_proj.weight"), 1 / std::sqrt(8.0), 0.01);
    EXPECT_NEAR(deviation_of(guide, layer + "self_attn.q_proj.weight"), 0.02, 5e-4);
    EXPECT_NEAR(deviation_of(guide, layer + "mlp.up_proj.weight"), 0.05, 1e-3);
    EXPECT_EQ(guide.at("lm_head.weight").abs().max().item<double>(), 0);
}

TEST(Init, MupFollowsTheWidth) {
    Plan plan;
    plan.model = model_preset("llama-tiny").value();
    plan.model.mup_base_width = plan.model.hidden_size / 4;
    const auto weights = initial(plan, 1);
    EXPECT_NEAR(deviation_of(weights, "model.layers.1.mlp.up_proj.weight"), 0.02 / 2, 3e-4);
    EXPECT_NEAR(deviation_of(weights, "model.embed_tokens.weight"), 0.02, 5e-4);
    EXPECT_NEAR(deviation_of(weights, "lm_head.weight"), 0.02 / 4, 2e-4);
    EXPECT_EQ(mup_rate(plan.model, "model.layers.1.mlp.up_proj.weight"), 0.25);
    EXPECT_EQ(mup_rate(plan.model, "lm_head.weight"), 0.25);
    EXPECT_EQ(mup_rate(plan.model, "model.embed_tokens.weight"), 1);
}

TEST(Init, DeepNormIsXaviersWithAGain) {
    for (const char* preset : {"gpt2-tiny", "llama-tiny"}) {
        Plan plan;
        plan.model = model_preset(preset).value();
        plan.model.norm_placement = NormPlacement::DeepNorm;
        const auto weights = initial(plan, 1);
        const double h = static_cast<double>(plan.model.hidden_size);
        const double gain = std::pow(8.0 * static_cast<double>(plan.model.num_layers), -0.25);
        const double xavier = std::sqrt(2 / (2 * h));
        if (std::string(preset) == "gpt2-tiny") {
            const Tensor fused = weights.at("transformer.h.0.attn.c_attn.weight");
            const std::int64_t width = plan.model.hidden_size;
            EXPECT_NEAR(fused.narrow(1, 0, 2 * width).std().item<double>(), xavier, 0.03 * xavier);
            EXPECT_NEAR(fused.narrow(1, 2 * width, width).std().item<double>(), gain * xavier, 0.03 * xavier);
            EXPECT_NEAR(deviation_of(weights, "transformer.h.0.attn.c_proj.weight"), gain * xavier, 0.03 * xavier);
        } else {
            EXPECT_NEAR(deviation_of(weights, "model.layers.0.self_attn.q_proj.weight"), xavier, 0.03 * xavier);
            EXPECT_NEAR(deviation_of(weights, "model.layers.0.self_attn.o_proj.weight"), gain * xavier, 0.03 * xavier);
        }
    }
}

TEST(Init, SameSeedSameWeightsOnAnyNumberOfThreads) {
    Plan plan;
    plan.model = model_preset("llama-tiny").value();
    const int threads = at::get_num_threads();
    const auto expected = initial(plan, 7);
    at::set_num_threads(threads == 1 ? 2 : 1);
    for (const auto& [name, weight] : initial(plan, 7)) EXPECT_TRUE(torch::equal(weight, expected.at(name))) << name;
    at::set_num_threads(threads);
    for (const auto& [name, weight] : initial(plan, 8)) {
        if (weight.dim() < 2) continue;
        EXPECT_FALSE(torch::equal(weight, expected.at(name))) << name;
    }
}

TEST(Init, AParameterDoesNotDependOnTheRestOfTheModel) {
    Plan small = small_plan("llama-7b"), large = small;
    large.model.num_layers = 5;
    large.model.tied_head = true;
    const auto few = initial(small, 7), many = initial(large, 7);
    for (const std::string name :
         {"model.embed_tokens.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.1.mlp.up_proj.weight"}) {
        EXPECT_TRUE(torch::equal(few.at(name), many.at(name))) << name;
    }
}

TEST(Init, NoTwoParametersShareTheirNumbers) {
    const auto weights = initial(small_plan("llama-7b"), 7);
    const Tensor first = weights.at("model.layers.0.self_attn.q_proj.weight");
    for (const std::string name : {"0.self_attn.k_proj", "0.self_attn.v_proj", "1.self_attn.q_proj"}) {
        const Tensor other = weights.at("model.layers." + name + ".weight");
        const double correlation = (first * other).mean().item<double>() / (0.2 * 0.2);
        EXPECT_LT(std::abs(correlation), 4 / std::sqrt(static_cast<double>(first.numel()))) << name;
    }
}

TEST(Init, HalfPrecisionWeightsAreTheRoundedOnes) {
    Plan plan = small_plan("qwen2.5-7b");
    const auto wide = initial(plan, 7);
    plan.numerics.dtype = Dtype::Bf16;
    for (const auto& [name, weight] : initial(plan, 7)) {
        EXPECT_TRUE(torch::equal(weight, wide.at(name).to(torch::kBFloat16))) << name;
    }
}

}  // namespace
}  // namespace plimsoll::engine
