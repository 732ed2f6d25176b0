// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_range_test.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

struct Curve {
    std::vector<double> rates, losses;
};

/// Falls around 1e-3, is lowest at about 3e-2 and explodes from 0.1.
Curve usual() {
    Curve curve;
    for (int i = 0; i <= 300; ++i) {
        const double rate = 1e-5 * std::pow(10, i / 60.0);
        curve.rates.push_back(rate);
        const double fallen = 3 / (1 + std::exp(-4 * (std::log10(rate) + 3)));
        curve.losses.push_back(5 - fallen + (rate > 0.1 ? std::pow(rate / 0.1, 4) : 0));
    }
    return curve;
}

TEST(LrRangeTest, FindsTheSteepestFallTheLowestAndTheExplosion) {
    const Curve curve = usual();
    const auto result = judge_range_test(curve.rates, curve.losses);
    ASSERT_TRUE(result);
    EXPECT_NEAR(std::log10(result->steepest), -3, 0.3);
    EXPECT_GT(result->lowest, 0.03);
    EXPECT_LT(result->lowest, 0.2);
    ASSERT_TRUE(result->diverged);
    EXPECT_GT(*result->diverged, 0.1);
    EXPECT_DOUBLE_EQ(result->suggestion, result->lowest / 10);
}

TEST(LrRangeTest, TheFirstFallOfAFreshModelIsNotTheRates) {
    Curve curve = usual();
    for (std::size_t i = 0; i < 20; ++i) curve.losses[i] += 3 * std::exp(-static_cast<double>(i) / 5);
    const auto result = judge_range_test(curve.rates, curve.losses);
    ASSERT_TRUE(result);
    EXPECT_NEAR(std::log10(result->steepest), -3, 0.3);
}

TEST(LrRangeTest, ALossThatIsNotFiniteIsDivergence) {
    Curve curve = usual();
    curve.losses[220] = std::nan("");
    const auto result = judge_range_test(curve.rates, curve.losses);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->diverged, curve.rates[220]);
    EXPECT_EQ(result->smoothed.size(), 220U);
    for (const double each : result->smoothed) EXPECT_TRUE(std::isfinite(each));
}

TEST(LrRangeTest, SaysNothingOfTooLittle) {
    EXPECT_FALSE(judge_range_test({}, {}));
    EXPECT_FALSE(judge_range_test({1e-3, 1e-2}, {3, 2}));
    EXPECT_FALSE(judge_range_test(usual().rates, std::vector<double>(301, 4.0))) << "never fell";
}

}  // namespace
}  // namespace plimsoll
