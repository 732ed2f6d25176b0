// SPDX-License-Identifier: Apache-2.0
#include "core/engine/init.h"

#include <gtest/gtest.h>

#include "tests/engine/model/small_models.h"

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
