// SPDX-License-Identifier: Apache-2.0
#include "core/engine/adamw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll::engine {
namespace {

using testing::HasSubstr;
using torch::Tensor;

std::vector<std::pair<std::string, Tensor>> two_parameters(torch::ScalarType dtype = torch::kFloat) {
    torch::manual_seed(3);
    const Tensor matrix = torch::randn({17, 33}).to(dtype).requires_grad_();
    const Tensor norm = torch::randn({33}).to(dtype).requires_grad_();
    return {{"matrix", matrix}, {"norm", norm}};
}

void set_gradients(const std::vector<std::pair<std::string, Tensor>>& parameters, std::int64_t step) {
    torch::manual_seed(static_cast<std::uint64_t>(100 + step));
    for (const auto& [name, parameter] : parameters) {
        parameter.mutable_grad() = torch::randn(parameter.sizes()).to(parameter.scalar_type());
    }
}

double largest_difference(const Tensor& a, const Tensor& b) { return (a - b).abs().max().item<double>(); }

TEST(AdamW, EqualsTorchStepByStepWithoutDecayOnVectors) {
    Optimizer settings;
    settings.weight_decay = 0.3;
    auto ours = two_parameters(), theirs = two_parameters();
    AdamW adamw(ours, settings);
    const auto options = torch::optim::AdamWOptions(0).betas({settings.beta1, settings.beta2}).eps(settings.eps);
    torch::optim::AdamW decayed({theirs[0].second}, torch::optim::AdamWOptions(options).weight_decay(0.3));
    torch::optim::AdamW exempt({theirs[1].second}, torch::optim::AdamWOptions(options).weight_decay(0));
    for (std::int64_t step = 1; step <= 50; ++step) {
        const double lr = 0.01 / static_cast<double>(step);
        set_gradients(ours, step);
        set_gradients(theirs, step);
        adamw.step(lr, 1, 1);
        for (auto* optimizer : {&decayed, &exempt}) {
            static_cast<torch::optim::AdamWOptions&>(optimizer->param_groups()[0].options()).lr(lr);
            optimizer->step();
        }
        EXPECT_EQ(adamw.steps(), step);
        for (std::size_t i = 0; i < 2; ++i) {
            ASSERT_LT(largest_difference(ours[i].second, theirs[i].second), 1e-6) << ours[i].first << " step " << step;
        }
    }
}

TEST(AdamW, FirstStepIsTheOneOfThePaper) {
    // Loshchilov & Hutter 2019, algorithm 2, with g = 4 and w = 2: m = 0.4, v = 0.8, corrected 4 and 16.
    Optimizer settings;
    settings.weight_decay = 0.1;
    Tensor w = torch::full({1, 1}, 2.0F).requires_grad_();
    AdamW adamw({{"w", w}}, settings);
    w.mutable_grad() = torch::full({1, 1}, 4.0F);
    adamw.step(0.01, 1, 1);
    EXPECT_NEAR(w.item<double>(), 2 - 0.01 * 0.1 * 2 - 0.01 * 4 / (std::sqrt(16) + 1e-8), 1e-6);
}

TEST(AdamW, UnscalesAndClipsWithoutTouchingTheGradients) {
    auto plain = two_parameters(), scaled = two_parameters();
    AdamW a(plain, {}), b(scaled, {});
    for (std::int64_t step = 1; step <= 5; ++step) {
        set_gradients(plain, step);
        set_gradients(scaled, step);
        for (auto& [name, parameter] : plain) parameter.mutable_grad().mul_(0.5);
        for (auto& [name, parameter] : scaled) parameter.mutable_grad().mul_(1024);
        const Tensor before = scaled[0].second.grad().clone();
        a.step(0.01, 1, 1);
        b.step(0.01, 1.0 / 1024, 0.5);
        EXPECT_TRUE(torch::equal(scaled[0].second.grad(), before));
    }
    for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(plain[i].second, scaled[i].second));
}

TEST(AdamW, LargeTensorsAreUpdatedToTheLastNumber) {
    // 2.5 chunks of a million numbers, against torch.
    torch::manual_seed(1);
    const Tensor start = torch::randn({2'621'440 / 64, 64}), gradient = torch::randn_like(start);
    Tensor ours = start.clone().requires_grad_(), theirs = start.clone().requires_grad_();
    AdamW adamw({{"w", ours}}, {});
    torch::optim::AdamW reference({theirs},
                                  torch::optim::AdamWOptions(0.01).betas({0.9, 0.95}).eps(1e-8).weight_decay(0.1));
    ours.mutable_grad() = gradient * 4;
    theirs.mutable_grad() = gradient.clone();
    adamw.step(0.01, 0.25, 1);
    reference.step();
    EXPECT_LT(largest_difference(ours, theirs), 1e-6);
}

TEST(AdamW, HalfPrecisionLearnsBelowHalfAnUlp) {
    // A bf16 of 1.0 has a step of 1/128 above it; a hundred updates of 1e-3 must not be lost.
    for (const auto dtype : {torch::kBFloat16, torch::kHalf}) {
        Tensor w = torch::ones({4, 4}, dtype).requires_grad_();
        Optimizer settings;
        settings.weight_decay = 0;
        AdamW adamw({{"w", w}}, settings);
        for (int step = 0; step < 100; ++step) {
            w.mutable_grad() = torch::full({4, 4}, -1, dtype);
            adamw.step(1e-3, 1, 1);
        }
        EXPECT_NEAR(w[0][0].item<double>(), 1.1, 0.005);
        EXPECT_NEAR(adamw.state()[0].second[0][0].item<double>(), 1.1, 1e-4);  // the master
    }
}

TEST(AdamW, HalfPrecisionFollowsItsMaster) {
    auto half = two_parameters(torch::kBFloat16);
    AdamW adamw(half, {});
    std::vector<std::pair<std::string, Tensor>> wide;
    for (const auto& [name, parameter] : half) {
        wide.emplace_back(name, parameter.detach().to(torch::kFloat).requires_grad_());
    }
    AdamW reference(wide, {});
    for (std::int64_t step = 1; step <= 5; ++step) {
        set_gradients(half, step);
        for (std::size_t i = 0; i < 2; ++i) {
            wide[i].second.mutable_grad() = half[i].second.grad().to(torch::kFloat);
        }
        adamw.step(0.01, 0.125, 1);
        reference.step(0.01, 0.125, 1);
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_TRUE(torch::equal(half[i].second, wide[i].second.to(torch::kBFloat16)));
        }
    }
}

TEST(AdamW, TakesFp32GradientsOfHalfPrecisionWeights) {
    // numerics.fp32_gradients: 1 + 2^-12 is lost in bf16, and its Adam step from m = 0.1 (1 + 2^-12) is not.
    Optimizer settings;
    settings.weight_decay = 0;
    settings.eps = 1;  // so that the step depends on the gradient's size
    Tensor half = torch::zeros({2, 2}, torch::kBFloat16).requires_grad_(), wide = torch::zeros({2, 2}).requires_grad_();
    AdamW a({{"w", half}}, settings), b({{"w", wide}}, settings);
    half.mutable_grad() = wide.mutable_grad() = torch::full({2, 2}, 1 + 1.0 / 4096);
    a.step(1, 1, 1);
    b.step(1, 1, 1);
    EXPECT_TRUE(torch::equal(a.state()[0].second, wide));  // the master
    EXPECT_FALSE(torch::equal(wide, wide.to(torch::kBFloat16).to(torch::kFloat)));
}

TEST(AdamW, LeavesParametersWithoutGradientAlone) {
    auto parameters = two_parameters();
    const Tensor before = parameters[0].second.detach().clone();
    AdamW adamw(parameters, {});
    parameters[1].second.mutable_grad() = torch::ones({33});
    adamw.step(0.01, 1, 1);
    EXPECT_TRUE(torch::equal(parameters[0].second, before));
}

TEST(AdamW, ContinuesFromItsStateBitForBit) {
    for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
        auto first = two_parameters(dtype), second = two_parameters(dtype);
        AdamW a(first, {}), b(second, {});
        for (std::int64_t step = 1; step <= 3; ++step) {
            set_gradients(first, step);
            a.step(0.01, 1, 1);
        }
        ASSERT_TRUE(b.load_state(a.state(), a.steps()));
        EXPECT_EQ(b.steps(), 3);
        {
            const torch::NoGradGuard no_grad;
            for (std::size_t i = 0; i < 2; ++i) second[i].second.copy_(first[i].second);
        }
        for (std::int64_t step = 4; step <= 6; ++step) {
            set_gradients(first, step);
            set_gradients(second, step);
            a.step(0.01, 1, 1);
            b.step(0.01, 1, 1);
        }
        for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(torch::equal(first[i].second, second[i].second));
    }
}

TEST(AdamW, RefusesAStateThatIsNotItsOwnAndKeepsItsOwn) {
    auto parameters = two_parameters();
    AdamW adamw(parameters, {});
    set_gradients(parameters, 1);
    adamw.step(0.01, 1, 1);
    const Tensor moment = adamw.state()[0].second.clone();

    const auto refused = [&](std::vector<std::pair<std::string, Tensor>> state, const std::string& why) {
        const Result<void> loaded = adamw.load_state(state, 9);
        ASSERT_FALSE(loaded);
        EXPECT_THAT(loaded.error().message, HasSubstr(why));
        EXPECT_EQ(adamw.steps(), 1);
        EXPECT_TRUE(torch::equal(adamw.state()[0].second, moment));
    };
    auto state = adamw.state();
    for (auto& [name, tensor] : state) tensor = torch::zeros_like(tensor);
    auto missing = state;
    missing.pop_back();
    refused(missing, "lacks exp_avg_sq/norm");
    auto wrong_shape = state;
    wrong_shape[3].second = torch::zeros({34});
    refused(wrong_shape, "exp_avg_sq/norm of the optimizer state is Float [34], and this model needs Float [33]");
    auto wrong_dtype = state;
    wrong_dtype[0].second = state[0].second.to(torch::kHalf);
    refused(wrong_dtype, "Half [17, 33]");
    auto surplus = state;
    surplus.emplace_back("exp_avg/other", torch::zeros({1}));
    refused(surplus, "holds 5 tensors, and this model has 4");
    EXPECT_FALSE(adamw.load_state(state, -1));
}

}  // namespace
}  // namespace plimsoll::engine
