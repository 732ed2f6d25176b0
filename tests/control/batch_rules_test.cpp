// SPDX-License-Identifier: Apache-2.0
#include "core/control/batch_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace plimsoll {
namespace {

TEST(BatchRules, FactorsByHand) {
    EXPECT_EQ(batch_rule_factor(BatchRule::None, 4e6, 1e6), 1);
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Sqrt, 4e6, 1e6), 2);
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Linear, 4e6, 1e6), 4);
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Linear, 25e4, 1e6), 0.25);
}

TEST(BatchRules, SwitchGoesByTheRootBelowAMillionTokensAndLinearlyAbove) {
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Switch, 5e5, 125e3), 2);
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Switch, 4e6, 2e6), 2);
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Switch, 4e6, 25e4), 8) << "root to 1M, then four times";
    EXPECT_DOUBLE_EQ(batch_rule_factor(BatchRule::Switch, 25e4, 4e6), 0.125);
    EXPECT_NEAR(batch_rule_factor(BatchRule::Switch, 1e6 + 1, 1e6), 1, 2e-6) << "no jump";
}

TEST(NoiseScale, TwoNormsGiveGradientAndNoise) {
    // |G|^2 = 2 and tr(S) = 24: a batch of B measures 2 + 24 / B.
    const auto estimate = noise_estimate({4, 2 + 24.0 / 4}, {16, 2 + 24.0 / 16});
    ASSERT_TRUE(estimate);
    EXPECT_NEAR(estimate->gradient, 2, 1e-12);
    EXPECT_NEAR(estimate->noise, 24, 1e-12);
    NoiseScale scale;
    EXPECT_FALSE(scale.value());
    scale.add(*estimate);
    EXPECT_NEAR(scale.value().value(), 12, 1e-12);
    EXPECT_FALSE(noise_estimate({4, 1}, {4, 1}));
    EXPECT_FALSE(noise_estimate({0, 1}, {4, 1}));
}

TEST(NoiseScale, SampledGradientsGiveTheirOwnScale) {
    // Gradients of one example: mean 1 in each of 8 dimensions, deviation 3. B = 8 x 9 / 8 = 9.
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise(1, 3);
    const auto squared_norm = [&](int batch) {
        double square = 0;
        for (int dimension = 0; dimension < 8; ++dimension) {
            double sum = 0;
            for (int i = 0; i < batch; ++i) sum += noise(random);
            square += sum / batch * sum / batch;
        }
        return square;
    };
    NoiseScale scale;
    for (int i = 0; i < 20000; ++i) scale.add(*noise_estimate({2, squared_norm(2)}, {16, squared_norm(16)}));
    EXPECT_NEAR(scale.value().value(), 9, 0.5);
    EXPECT_EQ(scale.count(), 20000);
}

TEST(NoiseScale, SaysWhetherABiggerBatchPays) {
    EXPECT_TRUE(bigger_batch_pays(500, 1000));
    EXPECT_FALSE(bigger_batch_pays(2000, 1000));
    EXPECT_DOUBLE_EQ(steps_ratio(1000, 1000), 2);
    EXPECT_DOUBLE_EQ(examples_ratio(1000, 1000), 2);
    EXPECT_DOUBLE_EQ(steps_ratio(2000, 1000) / steps_ratio(1000, 1000), 0.75) << "a quarter saved at the border";
}

}  // namespace
}  // namespace plimsoll
