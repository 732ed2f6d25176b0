// SPDX-License-Identifier: Apache-2.0
// What holds for every optimizer. The rules of each kind: test_optimizer_rules.cpp.
#include "core/engine/optimizer/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/small_parts.h"

namespace plimsoll::engine {
namespace {

using testing::HasSubstr;
using torch::Tensor;

TEST(ShardedOptimizer, UnscalesAndClipsWithoutTouchingTheGradients) {
    for (const Optimizer& settings : every_optimizer()) {
        const auto plain = two_parts(), scaled = two_parts();
        const auto a = optimizer_of(plain, settings), b = optimizer_of(scaled, settings);
        for (std::int64_t step = 1; step <= 5; ++step) {
            auto gradients = random_gradients(plain, step);
            for (Tensor& gradient : gradients) gradient.mul_(0.5);
            ASSERT_TRUE(a->step(gradients, 0.01, 1, 1));
            for (Tensor& gradient : gradients) gradient.mul_(2048);
            const Tensor before = gradients[0].clone();
            ASSERT_TRUE(b->step(gradients, 0.01, 1.0 / 1024, 0.5));
            EXPECT_TRUE(torch::equal(gradients[0], before));
            EXPECT_EQ(b->steps(), step);
        }
        for (std::size_t i = 0; i < 2; ++i) {
            EXPECT_TRUE(torch::equal(plain[i].parameter, scaled[i].parameter)) << name_of(settings);
        }
    }
}

TEST(ShardedOptimizer, HalfPrecisionFollowsItsMaster) {
    for (const Optimizer& settings : every_optimizer()) {
        for (const auto dtype : {torch::kBFloat16, torch::kHalf}) {
            const auto half = two_parts(dtype);
            std::vector<OptimizedPart> wide;
            for (const OptimizedPart& part : half) {
                wide.push_back(whole_part(part.name, part.parameter.to(torch::kFloat)));
            }
            const auto ours = optimizer_of(half, settings), reference = optimizer_of(wide, settings);
            for (std::int64_t step = 1; step <= 5; ++step) {
                const auto gradients = random_gradients(half, step);
                std::vector<Tensor> wide_gradients;
                for (const Tensor& gradient : gradients) wide_gradients.push_back(gradient.to(torch::kFloat));
                ASSERT_TRUE(ours->step(gradients, 0.01, 0.125, 1));
                ASSERT_TRUE(reference->step(wide_gradients, 0.01, 0.125, 1));
            }
            EXPECT_EQ(ours->state()[0].name, "master/matrix");
            EXPECT_TRUE(torch::equal(ours->state()[0].tensor, wide[0].parameter)) << name_of(settings);
            for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_TRUE(torch::equal(half[i].parameter, wide[i].parameter.to(dtype))) << name_of(settings);
            }
        }
    }
}

TEST(ShardedOptimizer, HalfPrecisionLearnsBelowHalfAnUlp) {
    // A bf16 of 1.0 has a step of 1/128 above it; a hundred updates of 1e-3 must not be lost.
    for (Optimizer settings : every_optimizer()) {
        settings.weight_decay = 0;
        settings.momentum = 0;
        const Tensor w = torch::ones({64, 64}, torch::kBFloat16);
        const auto optimizer = optimizer_of({whole_part("w", w)}, settings);
        for (int step = 0; step < 100; ++step) {
            ASSERT_TRUE(optimizer->step({torch::full({64, 64}, -1, torch::kBFloat16)}, 1e-3, 1, 1));
        }
        EXPECT_NEAR(w[0][0].item<double>(), 1.1, 0.01) << name_of(settings);
    }
}

TEST(ShardedOptimizer, TakesFp32GradientsOfHalfPrecisionWeights) {
    // numerics.fp32_gradients: 1 + 2^-12 is lost in bf16.
    for (Optimizer settings : every_optimizer()) {
        settings.eps = 1;  // so that Adam's step depends on the gradient's size
        const Tensor half = torch::full({2, 2}, 0.5, torch::kBFloat16), wide = torch::full({2, 2}, 0.5);
        const auto a = optimizer_of({whole_part("w", half)}, settings);
        const auto b = optimizer_of({whole_part("w", wide)}, settings);
        const Tensor gradient = torch::full({2, 2}, 1 + 1.0 / 4096);
        ASSERT_TRUE(a->step({gradient}, 1, 1, 1));
        ASSERT_TRUE(b->step({gradient}, 1, 1, 1));
        EXPECT_TRUE(torch::equal(a->state()[0].tensor, wide)) << name_of(settings);
    }
}

TEST(ShardedOptimizer, LeavesPartsWithoutGradientAlone) {
    for (const Optimizer& settings : every_optimizer()) {
        const auto parts = two_parts(), alone = two_parts();
        const Tensor before = parts[0].parameter.clone();
        const auto optimizer = optimizer_of(parts, settings), other = optimizer_of({alone[1]}, settings);
        ASSERT_TRUE(optimizer->step({Tensor(), torch::ones({67})}, 0.01, 1, 1));
        ASSERT_TRUE(other->step({torch::ones({67})}, 0.01, 1, 1));
        EXPECT_TRUE(torch::equal(parts[0].parameter, before)) << name_of(settings);
        EXPECT_TRUE(torch::equal(parts[1].parameter, alone[1].parameter)) << name_of(settings);
        EXPECT_FALSE(torch::equal(parts[1].parameter, two_parts()[1].parameter));
    }
}

TEST(ShardedOptimizer, TakesPartsWithoutRows) {
    for (const Optimizer& settings : every_optimizer()) {
        OptimizedPart empty{"w", torch::empty({0, 8}, torch::kBFloat16), true, 1000, 8};
        const auto optimizer = optimizer_of({empty}, settings);
        ASSERT_TRUE(optimizer->step({torch::empty({0, 8}, torch::kBFloat16)}, 0.01, 1, 1)) << name_of(settings);
        for (const OptimizerState& state : optimizer->state()) {
            EXPECT_EQ(state.tensor.numel(), state.shape == StateShape::Columns ? 8 : 0) << state.name;
        }
    }
}

TEST(ShardedOptimizer, ContinuesFromItsStateBitForBit) {
    for (const Optimizer& settings : every_optimizer()) {
        for (const auto dtype : {torch::kFloat, torch::kBFloat16}) {
            const auto first = two_parts(dtype), second = two_parts(dtype);
            const auto a = optimizer_of(first, settings), b = optimizer_of(second, settings);
            for (std::int64_t step = 1; step <= 3; ++step) {
                ASSERT_TRUE(a->step(random_gradients(first, step), 0.01, 1, 1));
            }
            ASSERT_TRUE(b->load_state(named_state(*a), a->steps()));
            EXPECT_EQ(b->steps(), 3);
            for (std::size_t i = 0; i < 2; ++i) second[i].parameter.copy_(first[i].parameter);
            for (std::int64_t step = 4; step <= 6; ++step) {
                ASSERT_TRUE(a->step(random_gradients(first, step), 0.01, 1, 1));
                ASSERT_TRUE(b->step(random_gradients(first, step), 0.01, 1, 1));
            }
            const auto left = named_state(*a), right = named_state(*b);
            for (std::size_t k = 0; k < left.size(); ++k) {
                EXPECT_TRUE(torch::equal(left[k].second, right[k].second)) << name_of(settings) << left[k].first;
            }
            for (std::size_t i = 0; i < 2; ++i) {
                EXPECT_TRUE(torch::equal(first[i].parameter, second[i].parameter)) << name_of(settings);
            }
        }
    }
}

TEST(ShardedOptimizer, RefusesAStateThatIsNotItsOwnAndKeepsItsOwn) {
    for (const Optimizer& settings : every_optimizer()) {
        const auto parts = two_parts();
        const auto optimizer = optimizer_of(parts, settings);
        ASSERT_TRUE(optimizer->step(random_gradients(parts, 1), 0.01, 1, 1));
        std::vector<std::pair<std::string, Tensor>> before;
        for (const auto& [name, tensor] : named_state(*optimizer)) before.emplace_back(name, tensor.clone());

        const auto refused = [&](const std::vector<std::pair<std::string, Tensor>>& state, const std::string& why) {
            const Result<void> loaded = optimizer->load_state(state, 9);
            ASSERT_FALSE(loaded) << why;
            EXPECT_THAT(loaded.error().message, HasSubstr(why));
            EXPECT_EQ(optimizer->steps(), 1);
            const auto after = named_state(*optimizer);
            for (std::size_t k = 0; k < before.size(); ++k) {
                EXPECT_TRUE(torch::equal(after[k].second, before[k].second)) << name_of(settings);
            }
        };
        auto zeros = before;
        for (auto& [name, tensor] : zeros) tensor = torch::zeros_like(tensor);
        const auto& [last, tensor] = zeros.back();
        auto missing = zeros;
        missing.pop_back();
        refused(missing, fmt::format("lacks {}", last));
        auto wrong_shape = zeros;
        wrong_shape.back().second = torch::zeros({68});
        refused(wrong_shape,
                fmt::format("{} of the optimizer state is Float [68], and this model needs Float [67]", last));
        auto wrong_dtype = zeros;
        wrong_dtype.back().second = tensor.to(torch::kHalf);
        refused(wrong_dtype, "Half [67]");
        auto surplus = zeros;
        surplus.emplace_back("exp_avg/other", torch::zeros({1}));
        refused(surplus, fmt::format("holds {} tensors, and this model has {}", before.size() + 1, before.size()));
        EXPECT_FALSE(optimizer->load_state(before, -1));
        EXPECT_TRUE(optimizer->load_state(before, 1));
    }
}

TEST(ShardedOptimizer, RefusesPartsThatAreNotContiguous) {
    const auto made = make_optimizer({whole_part("w", torch::zeros({4, 6}).t())}, {}, nullptr);
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("w is not contiguous"));
}

}  // namespace
}  // namespace plimsoll::engine
