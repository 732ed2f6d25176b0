// SPDX-License-Identifier: Apache-2.0
#include "core/control/robust_window.h"
#include "core/base/json.h"
#include "core/base/median.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

RobustWindow window(GuardDetector detector, std::int64_t size = 128, std::int64_t warmup = 10, double threshold = 0) {
    return {detector, size, warmup, threshold};
}

/// 1 and 3 in turn: mean 2, every distance from it 1.
void feed_waves(RobustWindow& w, int count) {
    for (int i = 0; i < count; ++i) {
        const double value = i % 2 == 0 ? 1 : 3;
        w.feed(value, w.judge(value));
    }
}

TEST(RobustWindow, NothingIsJudgedDuringTheWarmup) {
    for (const GuardDetector detector : {GuardDetector::Sigma, GuardDetector::Mad, GuardDetector::ZClip}) {
        RobustWindow w = window(detector);
        feed_waves(w, 9);
        EXPECT_FALSE(w.judge(1e9).judged);
        feed_waves(w, 1);
        EXPECT_TRUE(w.judge(1e9).anomaly);
        EXPECT_FALSE(w.judge(2).anomaly);
        EXPECT_FALSE(w.judge(-1e9).anomaly) << "a small gradient is no danger";
    }
}

TEST(RobustWindow, SigmaByHand) {
    RobustWindow w = window(GuardDetector::Sigma);
    feed_waves(w, 10);
    const double deviation = std::sqrt(10.0 / 9);
    const Judgement j = w.judge(10);
    EXPECT_DOUBLE_EQ(j.centre, 2);
    EXPECT_NEAR(j.threshold, 2 + 3 * deviation, 1e-12);
    EXPECT_NEAR(j.deviations, 8 / deviation, 1e-12);
    EXPECT_EQ(j.clip_to, j.threshold);
    EXPECT_FALSE(w.judge(j.threshold).anomaly);
}

TEST(RobustWindow, SigmaLeavesOutliersOfItsWindowAside) {
    RobustWindow w = window(GuardDetector::Sigma);
    feed_waves(w, 40);
    RobustWindow::State state = w.state();
    state.samples[7] = 1000;  // as from a warmup
    w.restore(state);
    EXPECT_NEAR(w.judge(2).centre, 2, 0.1);
    EXPECT_TRUE(w.judge(6).anomaly);
}

TEST(RobustWindow, MadByHand) {
    RobustWindow w = window(GuardDetector::Mad);
    feed_waves(w, 10);
    EXPECT_NEAR(w.judge(10).threshold, 2 + 5 * 1.4826, 1e-12);
}

TEST(RobustWindow, ZClipByHand) {
    RobustWindow w = window(GuardDetector::ZClip);
    feed_waves(w, 10);
    const double deviation = std::sqrt(10.0 / 9);
    const Judgement j = w.judge(10);
    ASSERT_TRUE(j.anomaly);
    const double z = 8 / deviation;
    EXPECT_NEAR(j.clip_to, 2 + 2.5 * 2.5 / z * deviation, 1e-12);
    w.feed(10, j);
    EXPECT_NEAR(w.state().mean, 0.97 * 2 + 0.03 * j.clip_to, 1e-12);
    EXPECT_NEAR(w.state().variance, 0.97 * 10.0 / 9 + 0.03 * (j.clip_to - 2) * (j.clip_to - 2), 1e-12);
}

// A sample in its own window of 10 stands (10 - 1) / sqrt(10) = 2.85 deviations up at most: 3 sigma would never fire.
TEST(RobustWindow, ASmallWindowStillFires) {
    RobustWindow w = window(GuardDetector::Sigma, 10, 10);
    feed_waves(w, 10);
    EXPECT_GT(w.judge(100).deviations, 50);
    EXPECT_TRUE(w.judge(100).anomaly);
}

TEST(RobustWindow, AnAnomalyIsFedByWhatItIsCutToSoThatANewLevelIsLearned) {
    RobustWindow w = window(GuardDetector::Sigma, 32);
    feed_waves(w, 32);
    const Judgement j = w.judge(1000);
    w.feed(1000, j);
    EXPECT_EQ(w.state().samples.back(), j.clip_to);
    int anomalies = 0;
    for (int i = 0; i < 200; ++i) {
        const Judgement each = w.judge(20);
        anomalies += each.anomaly ? 1 : 0;
        w.feed(20, each);
    }
    EXPECT_GT(anomalies, 5);
    EXPECT_FALSE(w.judge(20).anomaly) << "the level has moved for good";
    EXPECT_EQ(w.state().samples.size(), 32U);
}

TEST(RobustWindow, RoundingOfAFlatCurveIsNoAnomaly) {
    for (const GuardDetector detector : {GuardDetector::Sigma, GuardDetector::Mad, GuardDetector::ZClip}) {
        RobustWindow w = window(detector);
        for (int i = 0; i < 20; ++i) w.feed(5, w.judge(5));
        EXPECT_FALSE(w.judge(5.05).anomaly);
        EXPECT_TRUE(w.judge(6).anomaly);
    }
}

TEST(RobustWindow, OffJudgesNothing) {
    RobustWindow w = window(GuardDetector::Off);
    feed_waves(w, 100);
    EXPECT_FALSE(w.judge(1e9).judged);
    EXPECT_EQ(w.state().seen, 0);
}

TEST(RobustWindow, StateGoesThroughJson) {
    for (const GuardDetector detector : {GuardDetector::Sigma, GuardDetector::ZClip}) {
        RobustWindow w = window(detector, 16);
        feed_waves(w, 40);
        RobustWindow copy = window(detector, 16);
        copy.restore(window_state(Json::parse(to_json(w.state()).dump())));
        EXPECT_EQ(copy.state(), w.state());
        EXPECT_EQ(copy.judge(7).threshold, w.judge(7).threshold);
    }
}

TEST(Median, OddEvenAndNone) {
    EXPECT_EQ(median({3, 1, 2}), 2);
    EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
    EXPECT_EQ(median({}), 0);
}

}  // namespace
}  // namespace plimsoll
