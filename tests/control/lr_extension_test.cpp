// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_extension.h"

#include <gtest/gtest.h>

#include "core/control/lr_schedule.h"

namespace plimsoll {
namespace {

/// Cosine from 1 to 0.1 over 300 updates, with a warmup of 20.
Plan cosine() {
    Plan plan;
    plan.optimizer.lr = 1;
    plan.training.steps = 300;
    return plan;
}

Plan longer(const Plan& plan, std::int64_t steps, LrExtension how) {
    Plan other = plan;
    other.training.steps = steps;
    other.lr = extended(plan.lr, plan.training.steps, how);
    return other;
}

TEST(LrExtension, WhatWasDoneHasTheRatesThatItHad) {
    const Plan before = cosine();
    for (const LrExtension how : {LrExtension::Constant, LrExtension::Rewarm}) {
        const Plan after = longer(before, 600, how);
        for (std::int64_t step = 0; step < 300; ++step) {
            ASSERT_EQ(learning_rate(after, step), learning_rate(before, step)) << name_of(how) << step;
        }
    }
}

TEST(LrExtension, StretchSpansAllSteps) {
    const Plan after = longer(cosine(), 600, LrExtension::Stretch);
    Plan planned = cosine();
    planned.training.steps = 600;
    EXPECT_EQ(after.lr, planned.lr);
    EXPECT_GT(learning_rate(after, 300), 0.5);
}

TEST(LrExtension, ConstantStays) {
    const Plan after = longer(cosine(), 600, LrExtension::Constant);
    for (std::int64_t step = 299; step < 600; ++step) ASSERT_DOUBLE_EQ(learning_rate(after, step), 0.1) << step;
}

TEST(LrExtension, RewarmRisesFromWhereItWasAndGoesThroughTheScheduleOnceMore) {
    const Plan after = longer(cosine(), 600, LrExtension::Rewarm);
    EXPECT_DOUBLE_EQ(learning_rate(after, 300), 0.1) << "1/20 of the peak would lie below";
    EXPECT_DOUBLE_EQ(learning_rate(after, 302), 0.15);
    EXPECT_DOUBLE_EQ(learning_rate(after, 319), 1) << "warmup of 20";
    EXPECT_DOUBLE_EQ(learning_rate(after, 599), 0.1);
    const Plan once = cosine();
    for (std::int64_t step = 20; step < 300; ++step) {
        ASSERT_DOUBLE_EQ(learning_rate(after, 300 + step), learning_rate(once, step)) << step;
    }
    const Plan few = longer(cosine(), 310, LrExtension::Rewarm);
    EXPECT_DOUBLE_EQ(learning_rate(few, 304), 1) << "half of ten steps at most are warmup";
    EXPECT_DOUBLE_EQ(learning_rate(few, 309), 0.1);
}

TEST(LrExtension, IsExtendedAgainFromWhereItIs) {
    const Plan twice = longer(longer(cosine(), 600, LrExtension::Constant), 900, LrExtension::Constant);
    EXPECT_EQ(twice.lr.extended_from, 600);
    EXPECT_DOUBLE_EQ(learning_rate(twice, 899), 0.1);
    Plan warm = longer(cosine(), 350, LrExtension::Rewarm);
    const double reached = learning_rate(warm, 349);
    const Plan on = longer(warm, 900, LrExtension::Constant);
    EXPECT_DOUBLE_EQ(learning_rate(on, 350), reached);
    EXPECT_DOUBLE_EQ(learning_rate(on, 899), reached);
}

TEST(LrExtension, EveryScheduleGoesOnWithoutAJumpWhereItStays) {
    for (std::size_t kind = 0; kind < lr_kind_names.size(); ++kind) {
        Plan before = cosine();
        before.lr.kind = static_cast<LrKind>(kind);
        before.lr.cycle_steps = 50;
        before.lr.decay_steps = 40;
        EXPECT_FALSE(rate_jump(before, longer(before, 600, LrExtension::Constant), 300)) << lr_kind_names[kind];
        EXPECT_FALSE(rate_jump(before, before, 150)) << lr_kind_names[kind];
    }
}

TEST(RateJump, IsWhatAddedStepsDoToAFallingRate) {
    const Plan before = cosine();
    Plan after = before;
    after.training.steps = 600;
    const auto finished = rate_jump(before, after, 300);
    ASSERT_TRUE(finished);
    EXPECT_DOUBLE_EQ(finished->before, 0.1);
    EXPECT_DOUBLE_EQ(finished->after, learning_rate(after, 300));
    EXPECT_TRUE(rate_jump(before, after, 150)) << "in the middle of the fall as well";
    EXPECT_FALSE(rate_jump(before, after, 10)) << "the warmup is the same";
    after.training.steps = 301;
    EXPECT_FALSE(rate_jump(before, after, 150)) << "hardly any other rate";
    after.training.steps = 200;
    EXPECT_FALSE(rate_jump(before, after, 150)) << "fewer steps: it falls";
    after.training.steps = 300;
    EXPECT_FALSE(rate_jump(before, after, 300));
    Plan flat = before;
    flat.lr.kind = LrKind::Constant;
    Plan on = flat;
    on.training.steps = 600;
    EXPECT_FALSE(rate_jump(flat, on, 300));
}

}  // namespace
}  // namespace plimsoll
