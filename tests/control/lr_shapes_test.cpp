// SPDX-License-Identifier: Apache-2.0
// The shapes of lr_schedule.h beyond constant, linear and cosine, worked out by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"

namespace plimsoll {
namespace {

constexpr double peak = 1;

LrSchedule schedule(LrKind kind, std::int64_t warmup = 0, double floor = 0) {
    LrSchedule s;
    s.kind = kind;
    s.warmup_steps = warmup;
    s.min_ratio = floor;
    return s;
}

TEST(LrShapes, WarmupAsAFractionCountsTheRun) {
    LrSchedule s = schedule(LrKind::Constant, 3);
    s.warmup_fraction = 0.05;
    EXPECT_EQ(warmup_updates(s, 200), 10);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 4, 200), 0.5);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 9, 200), 1);
    s.warmup_fraction = 0;
    EXPECT_EQ(warmup_updates(s, 200), 3);
}

TEST(LrShapes, WarmupCurvesEndAtThePeakAndRise) {
    for (const LrShape shape : {LrShape::Linear, LrShape::Cosine, LrShape::OneMinusSqrt, LrShape::Log}) {
        LrSchedule s = schedule(LrKind::Constant, 8);
        s.warmup_shape = shape;
        s.warmup_start_ratio = 0.2;
        EXPECT_NEAR(learning_rate(s, peak, 7, 100), 1, 1e-15);
        EXPECT_GT(learning_rate(s, peak, 0, 100), 0.2);
        for (int step = 1; step < 8; ++step)
            EXPECT_GT(learning_rate(s, peak, step, 100), learning_rate(s, peak, step - 1, 100));
    }
    LrSchedule s = schedule(LrKind::Constant, 8);
    s.warmup_shape = LrShape::Cosine;
    EXPECT_NEAR(learning_rate(s, peak, 3, 100), 0.5, 1e-15);
    s.warmup_shape = LrShape::Log;
    EXPECT_NEAR(learning_rate(s, peak, 1, 100), std::log(3.0) / std::log(9.0), 1e-15);
}

TEST(LrShapes, TailFallsFromWhereTheCurveIsToZeroAfterTheLastUpdate) {
    for (const LrKind kind : {LrKind::Constant, LrKind::Linear, LrKind::Cosine, LrKind::Polynomial, LrKind::Guide}) {
        LrSchedule s = schedule(kind, 10, 0.25);
        s.tail = true;
        s.decay_steps = 20;
        const double top = kind == LrKind::Constant ? 1 : 0.25;
        EXPECT_NEAR(learning_rate(s, peak, 80, 100), top, 1e-15) << static_cast<int>(kind);
        EXPECT_NEAR(learning_rate(s, peak, 90, 100), top / 2, 1e-15);
        EXPECT_NEAR(learning_rate(s, peak, 99, 100), top / 20, 1e-15);
        EXPECT_DOUBLE_EQ(learning_rate(s, peak, 100, 100), 0);
    }
}

TEST(LrShapes, GuideIsCosineWithATailAndHasNoJump) {
    LrSchedule guide = schedule(LrKind::Guide, 10, 0.1), cosine = schedule(LrKind::Cosine, 10, 0.1);
    cosine.tail = true;
    for (int step = 0; step < 200; ++step) {
        ASSERT_EQ(learning_rate(guide, peak, step, 200), learning_rate(cosine, peak, step, 200)) << step;
        if (step > 10) {
            ASSERT_LT(learning_rate(guide, peak, step, 200), learning_rate(guide, peak, step - 1, 200));
        }
    }
    EXPECT_FALSE(jump_update(guide, 200));
}

TEST(LrShapes, GuideLiteralIsTheFormulaWithItsJump) {
    LrSchedule s = schedule(LrKind::GuideLiteral, 10, 0.1);
    s.decay_steps = 40;
    ASSERT_EQ(jump_update(s, 200), 160);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 4, 200), 0.5);
    for (const int t : {10, 50, 85, 159}) {
        EXPECT_NEAR(learning_rate(s, peak, t, 200), 0.5 * (1 + std::cos(M_PI * (t - 10) / 150.0)), 1e-15);
    }
    EXPECT_LT(learning_rate(s, peak, 159, 200), 2e-4);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 160, 200), 1) << "back at the peak";
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 180, 200), 0.5);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 200, 200), 0);
}

TEST(LrShapes, WsdStaysThenFallsToTheFloorAtTheLastUpdate) {
    LrSchedule s = schedule(LrKind::Wsd, 10, 0.2);
    s.decay_fraction = 0.2;
    for (const int step : {9, 50, 80}) EXPECT_DOUBLE_EQ(learning_rate(s, peak, step, 100), 1);
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 99, 100), 0.2);
    s.decay_steps = 21;
    s.decay_shape = LrShape::OneMinusSqrt;
    EXPECT_NEAR(learning_rate(s, peak, 84, 100), 0.2 + 0.8 * (1 - std::sqrt(5.0 / 20)), 1e-15);
    s.decay_shape = LrShape::Cosine;
    EXPECT_NEAR(learning_rate(s, peak, 89, 100), 0.6, 1e-15);
}

TEST(LrShapes, RestartsFollowSgdr) {
    LrSchedule s = schedule(LrKind::CosineRestarts, 0, 0.1);
    s.cycle_steps = 10;
    s.cycle_factor = 2;  // cycles of 10, 20, 40
    s.cycle_decay = 0.5;
    EXPECT_DOUBLE_EQ(learning_rate(s, peak, 0, 100), 1);
    EXPECT_NEAR(learning_rate(s, peak, 5, 100), 0.55, 1e-15);
    EXPECT_NEAR(learning_rate(s, peak, 10, 100), 0.5, 1e-15);
    EXPECT_NEAR(learning_rate(s, peak, 20, 100), 0.3, 1e-15);
    EXPECT_NEAR(learning_rate(s, peak, 30, 100), 0.25, 1e-15);
    EXPECT_NEAR(learning_rate(s, peak, 50, 100), 0.175, 1e-15);
    // Against the recursion, with a factor that is no whole number.
    s.cycle_factor = 1.3;
    s.cycle_steps = 10;
    double length = 10, begin = 0, top = 1;
    for (int step = 0; step < 1000; ++step) {
        while (step >= begin + length) {
            begin += length;
            length *= 1.3;
            top *= 0.5;
        }
        const double expected = 0.1 + (std::max(top, 0.1) - 0.1) * (1 + std::cos(M_PI * (step - begin) / length)) / 2;
        ASSERT_NEAR(learning_rate(s, peak, step, 2000), expected, 1e-9) << step;
    }
    s.cycle_steps = 0;
    for (const int step : {0, 40, 99})
        EXPECT_EQ(learning_rate(s, peak, step, 100), learning_rate(schedule(LrKind::Cosine, 0, 0.1), peak, step, 100));
}

TEST(LrShapes, PolynomialInverseSqrtOneCycleAndRangeTest) {
    LrSchedule poly = schedule(LrKind::Polynomial, 0, 0.1);
    poly.power = 2;
    EXPECT_NEAR(learning_rate(poly, peak, 50, 101), 0.1 + 0.9 * 0.25, 1e-15);
    LrSchedule inverse = schedule(LrKind::InverseSqrt, 16, 0);
    EXPECT_DOUBLE_EQ(learning_rate(inverse, peak, 15, 1000), 1);
    EXPECT_DOUBLE_EQ(learning_rate(inverse, peak, 15 + 48, 1000), 0.5);
    inverse.min_ratio = 0.4;
    EXPECT_DOUBLE_EQ(learning_rate(inverse, peak, 999, 1000), 0.4);
    // torch.optim.lr_scheduler.OneCycleLR(max_lr=1, total_steps=100, pct_start=0.3): step 0 at 1/25, step 29 at 1.
    const LrSchedule one = schedule(LrKind::OneCycle, 30, 1.0 / 25 / 1e4);
    EXPECT_NEAR(learning_rate(one, peak, 0, 100), 0.04, 1e-15);
    EXPECT_DOUBLE_EQ(learning_rate(one, peak, 29, 100), 1);
    EXPECT_NEAR(learning_rate(one, peak, 64, 100), (1 + 4e-6) / 2, 1e-15);
    EXPECT_DOUBLE_EQ(learning_rate(one, peak, 99, 100), 4e-6);
    LrSchedule range = schedule(LrKind::RangeTest);
    range.warmup_start_ratio = 1e-4;
    EXPECT_NEAR(learning_rate(range, peak, 0, 101), 1e-4, 1e-18);
    EXPECT_NEAR(learning_rate(range, peak, 50, 101), 1e-2, 1e-15);
    EXPECT_DOUBLE_EQ(learning_rate(range, peak, 100, 101), 1);
}

TEST(LrShapes, EveryKindIsFiniteAndNeverAboveThePeak) {
    for (std::size_t kind = 0; kind < lr_kind_names.size(); ++kind) {
        for (const std::int64_t warmup : {0, 1, 7, 40}) {
            for (const std::int64_t total : {1, 2, 40, 1000}) {
                LrSchedule s = schedule(static_cast<LrKind>(kind), warmup, 0.1);
                s.cycle_steps = 3;
                for (const std::int64_t step : {0L, 1L, total / 2, total - 1, total, 10 * total}) {
                    const double rate = learning_rate(s, peak, step, total);
                    ASSERT_TRUE(rate >= 0 && rate <= 1 + 1e-12) << lr_kind_names[kind] << " warmup " << warmup
                                                                << " step " << step << "/" << total << ": " << rate;
                }
            }
        }
    }
}

TEST(LrShapes, PlansRateFollowsItsBatchRule) {
    Plan plan;
    plan.optimizer.lr = 1e-3;
    plan.lr.kind = LrKind::Constant;
    plan.lr.warmup_steps = 0;
    plan.layout.dp = 4;
    plan.layout.micro_batch = 8;
    plan.layout.accumulation = 2;
    plan.data.sequence_length = 1024;  // 65,536 tokens a batch
    EXPECT_EQ(learning_rate(plan, 5), 1e-3);
    plan.lr.batch_reference = 16384;
    plan.lr.batch_rule = BatchRule::Sqrt;
    EXPECT_DOUBLE_EQ(learning_rate(plan, 5), 2e-3);
    plan.lr.batch_rule = BatchRule::Linear;
    EXPECT_DOUBLE_EQ(learning_rate(plan, 5), 4e-3);
}

}  // namespace
}  // namespace plimsoll
