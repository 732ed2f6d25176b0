// SPDX-License-Identifier: Apache-2.0
// Expected values are the formulas of lr_schedule.h worked out by hand.
#include "core/control/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

constexpr double peak = 6e-4;

LrSchedule schedule(LrKind kind, std::int64_t warmup, double min_ratio) {
    LrSchedule s;
    s.kind = kind;
    s.warmup_steps = warmup;
    s.min_ratio = min_ratio;
    return s;
}

TEST(LearningRate, WarmupRisesFromItsFirstUpdateToThePeak) {
    const LrSchedule s = schedule(LrKind::Cosine, 20, 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 0, 300), 3e-5);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 9, 300), 3e-4);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 19, 300), 6e-4);
    for (int step = 1; step < 20; ++step) {
        EXPECT_GT(learning_rate(s, peak, step, 300), learning_rate(s, peak, step - 1, 300));
    }
}

TEST(LearningRate, CosineFallsToItsFloorAtTheLastUpdate) {
    // 21 updates after the peak at update 19: half way (progress 10/20) is the mean of peak and floor.
    const LrSchedule s = schedule(LrKind::Cosine, 20, 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 29, 40), peak * 0.55);
    EXPECT_NEAR(learning_rate(s, peak, 24, 40), peak * (0.1 + 0.9 * (1 + std::sqrt(0.5)) / 2), 1e-15);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 39, 40), peak * 0.1);
    EXPECT_LT(learning_rate(s, peak, 20, 40), peak);
}

TEST(LearningRate, LinearFallsByEqualStepsToItsFloor) {
    const LrSchedule s =
        schedule(LrKind::Linear, 4, 0.0);  // peak at update 3, last update 13: a tenth of the peak each
    EXPECT_NEAR(learning_rate(s, peak, 4, 14), peak * 0.9, 1e-18);
    EXPECT_NEAR(learning_rate(s, peak, 8, 14), peak * 0.5, 1e-18);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 13, 14), 0);
    EXPECT_NEAR(learning_rate(schedule(LrKind::Linear, 4, 0.2), peak, 8, 14), peak * 0.6, 1e-18);
}

TEST(LearningRate, ConstantStaysAtThePeakAndHasNoFloor) {
    const LrSchedule s = schedule(LrKind::Constant, 2, 0.1);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 0, 100), peak / 2);
    for (const int step : {1, 2, 50, 99, 1000}) EXPECT_DOUBLE_EQ(learning_rate(s, peak, step, 100), peak);
}

TEST(LearningRate, WithoutWarmupTheFirstUpdateRunsAtThePeak) {
    for (const LrKind kind : {LrKind::Linear, LrKind::Cosine}) {
        const LrSchedule s = schedule(kind, 0, 0.1);
        EXPECT_DOUBLE_EQ(learning_rate(s, peak, 0, 11), peak);
        EXPECT_NEAR(learning_rate(s, peak, 5, 11), peak * 0.55, 1e-18);
        EXPECT_DOUBLE_EQ(learning_rate(s, peak, 10, 11), peak * 0.1);
        EXPECT_DOUBLE_EQ(learning_rate(s, peak, 0, 1), peak) << "a run of one update";
    }
}

TEST(LearningRate, StepsAfterTheLastStayAtTheFloor) {
    for (const LrKind kind : {LrKind::Linear, LrKind::Cosine}) {
        EXPECT_DOUBLE_EQ(learning_rate(schedule(kind, 5, 0.1), peak, 1'000'000, 100), peak * 0.1);
    }
}

TEST(LearningRate, WarmupLongerThanTheRunOnlyRises) {
    const LrSchedule s = schedule(LrKind::Cosine, 100, 0.1);
    for (int step = 0; step < 10; ++step) EXPECT_DOUBLE_EQ(learning_rate(s, peak, step, 10), peak * (step + 1) / 100);
}

TEST(LearningRate, WarmupAsLongAsTheRunEndsAtThePeak) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(LrKind::Linear, 10, 0.1), peak, 9, 10), peak);
}

TEST(LearningRate, FloorOfOneKeepsThePeak) {
    for (const int step : {10, 50, 99}) {
        EXPECT_DOUBLE_EQ(learning_rate(schedule(LrKind::Cosine, 10, 1.0), peak, step, 100), peak);
    }
}

}  // namespace
}  // namespace plimsoll
