// SPDX-License-Identifier: Apache-2.0
#include "core/control/gradient_guard.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Guard every_step() {
    Guard settings;
    settings.every = 1;
    settings.warmup = 10;
    settings.window = 32;
    settings.calm = 4;
    return settings;
}

/// A guard after 20 ordinary steps: norms 0.9 and 1.1, losses 2 and 2.2 in turn.
class Watched {
public:
    explicit Watched(const Guard& settings) : guard(settings) { pass(20); }
    void pass(int steps) {
        for (int i = 0; i < steps; ++i) {
            const GuardDecision decision = step(2 + 0.2 * (next_ % 2), 0.9 + 0.2 * (next_ % 2));
            EXPECT_EQ(decision.finding, GuardFinding::None) << decision.reason;
            EXPECT_TRUE(decision.apply);
        }
    }
    GuardDecision step(double loss, double norm) { return guard.decide({next_++, loss, norm}); }
    std::vector<GuardAction> actions(int findings) {
        std::vector<GuardAction> actions;
        for (int i = 0; i < findings; ++i) actions.push_back(step(2, 50).action);
        return actions;
    }
    GradientGuard guard;

private:
    std::int64_t next_ = 1;
};

TEST(GradientGuard, WithNothingOnASpikeIsToldAndTheUpdateIsMade) {
    Watched w(every_step());
    const GuardDecision decision = w.step(2, 50);
    EXPECT_EQ(decision.finding, GuardFinding::GradientSpike);
    EXPECT_EQ(decision.action, GuardAction::None);
    EXPECT_TRUE(decision.apply);
    EXPECT_EQ(decision.clip_to, 0);
    EXPECT_THAT(decision.reason, HasSubstr("the gradient norm 50 is "));
    EXPECT_THAT(decision.reason, HasSubstr("above its usual 1; up to 1.3"));
}

TEST(GradientGuard, NonfiniteIsLeftOutWithOrWithoutADetectorAndFeedsNothing) {
    for (const GuardDetector detector : {GuardDetector::Off, GuardDetector::Sigma}) {
        Guard settings = every_step();
        settings.detector = detector;
        Watched w(settings);
        const GradientGuard::State before = w.guard.state();
        for (const auto& [loss, norm] : {std::pair{2.0, nan}, {2.0, inf}, {nan, 1.0}, {inf, nan}}) {
            const GuardDecision decision = w.step(loss, norm);
            EXPECT_EQ(decision.finding, GuardFinding::Nonfinite);
            EXPECT_FALSE(decision.apply);
            EXPECT_EQ(decision.action, GuardAction::None);
        }
        EXPECT_EQ(w.guard.state().norms, before.norms);
        EXPECT_EQ(w.guard.state().losses, before.losses);
    }
}

TEST(GradientGuard, ClimbsItsLadderInOrderAndBeginsAnewAfterCalm) {
    Guard settings = every_step();
    settings.clip = settings.skip = settings.cut_lr = settings.checkpoint = settings.rollback = true;
    Watched w(settings);
    EXPECT_THAT(w.actions(6), ElementsAre(GuardAction::Clip, GuardAction::Skip, GuardAction::CutLr,
                                          GuardAction::Checkpoint, GuardAction::Rollback, GuardAction::Rollback));
    w.pass(3);
    EXPECT_THAT(w.actions(1), ElementsAre(GuardAction::Rollback)) << "three clean steps are no calm";
    w.pass(4);
    EXPECT_THAT(w.actions(2), ElementsAre(GuardAction::Clip, GuardAction::Skip));
}

TEST(GradientGuard, WhatEachActionSays) {
    const auto first = [](bool Guard::*action) {
        Guard settings = every_step();
        settings.*action = true;
        Watched w(settings);
        return w.step(2, 50);
    };
    const GuardDecision clip = first(&Guard::clip), skip = first(&Guard::skip), cut = first(&Guard::cut_lr),
                        save = first(&Guard::checkpoint), back = first(&Guard::rollback);
    EXPECT_TRUE(clip.apply && cut.apply);
    EXPECT_FALSE(skip.apply || save.apply || back.apply);
    EXPECT_GT(clip.clip_to, 1.1);
    EXPECT_LT(clip.clip_to, 1.5);
    EXPECT_EQ(cut.clip_to, clip.clip_to);
    EXPECT_EQ(save.action, GuardAction::Checkpoint);
    EXPECT_EQ(back.action, GuardAction::Rollback);
}

TEST(GradientGuard, CutsMultiply) {
    Guard settings = every_step();
    settings.cut_lr = true;
    Watched w(settings);
    EXPECT_EQ(w.guard.lr_factor(), 1);
    w.step(2, 50);
    EXPECT_DOUBLE_EQ(w.guard.lr_factor(), 0.8);
    w.step(2, nan);
    EXPECT_DOUBLE_EQ(w.guard.lr_factor(), 0.64);
    w.pass(10);
    EXPECT_DOUBLE_EQ(w.guard.lr_factor(), 0.64) << "for the rest of the run";
}

TEST(GradientGuard, NonfiniteCannotBeClipped) {
    Guard settings = every_step();
    settings.clip = true;
    Watched w(settings);
    const GuardDecision decision = w.step(nan, nan);
    EXPECT_FALSE(decision.apply);
    EXPECT_EQ(decision.clip_to, 0);
    EXPECT_EQ(decision.action, GuardAction::Skip);
}

TEST(GradientGuard, RollbacksEnd) {
    Guard settings = every_step();
    settings.rollback = true;
    settings.max_rollbacks = 2;
    Watched w(settings);
    EXPECT_THAT(w.actions(3), ElementsAre(GuardAction::Rollback, GuardAction::Rollback, GuardAction::Stop));
}

TEST(GradientGuard, LossSpikesHoldTheGradientsToTheirUsualSize) {
    Guard settings = every_step();
    settings.clip = true;
    Watched w(settings);
    const GuardDecision decision = w.step(9, 1.1);
    EXPECT_EQ(decision.finding, GuardFinding::LossSpike);
    EXPECT_NEAR(decision.clip_to, 1, 1e-9);
    EXPECT_THAT(decision.reason, HasSubstr("the loss 9 is "));
    settings.loss_spikes = false;
    Watched blind(settings);
    EXPECT_EQ(blind.step(9, 1.1).finding, GuardFinding::None);
}

TEST(GradientGuard, SamplesAreTakenEverySoManySteps) {
    Guard settings = every_step();
    settings.every = 5;
    settings.warmup = 3;
    GradientGuard guard(settings);
    for (std::int64_t step = 1; step <= 20; ++step) guard.decide({step, 2, 1});
    EXPECT_EQ(guard.state().norms.seen, 4);
    EXPECT_EQ(guard.decide({21, 2, 50}).finding, GuardFinding::None);
    EXPECT_EQ(guard.decide({22, 2, nan}).finding, GuardFinding::Nonfinite) << "at any step";
    EXPECT_EQ(guard.decide({25, 2, 50}).finding, GuardFinding::GradientSpike);
}

TEST(GradientGuard, AfterARollbackTheWindowsAreTheCheckpointsAndTheLadderGoesOn) {
    Guard settings = every_step();
    settings.cut_lr = settings.rollback = true;
    Watched w(settings);
    const GradientGuard::State checkpoint = w.guard.state();
    w.pass(5);
    EXPECT_THAT(w.actions(2), ElementsAre(GuardAction::CutLr, GuardAction::Rollback));
    const GradientGuard::State before = w.guard.state();
    w.guard.restore(checkpoint);
    w.guard.go_on_after_rollback(before);
    EXPECT_EQ(w.guard.state().norms, checkpoint.norms);
    EXPECT_EQ(w.guard.state().rollbacks, 1);
    EXPECT_DOUBLE_EQ(w.guard.lr_factor(), 0.8);
    EXPECT_THAT(w.actions(1), ElementsAre(GuardAction::Rollback));
}

TEST(GradientGuard, ReplaysFromItsStateAndItsRecords) {
    Guard settings = every_step();
    settings.clip = settings.cut_lr = true;
    Watched whole(settings);
    whole.step(2, 50);
    GradientGuard again(settings);
    again.restore(guard_state(Json::parse(to_json(whole.guard.state()).dump())));
    EXPECT_EQ(again.state(), whole.guard.state());
    for (std::int64_t step = 22; step < 60; ++step) {
        const GuardSample sample{step, 2 + (step % 7 == 0 ? 5.0 : 0.1), step % 11 == 0 ? 30 : 1 + 0.1 * (step % 3)};
        const GuardDecision a = whole.guard.decide(sample), b = again.decide(sample);
        ASSERT_EQ(a.action, b.action) << step;
        ASSERT_EQ(a.reason, b.reason);
        ASSERT_EQ(a.clip_to, b.clip_to);
    }
    EXPECT_LT(again.lr_factor(), 0.7);
}

}  // namespace
}  // namespace plimsoll
