// SPDX-License-Identifier: Apache-2.0
#include "core/control/adagc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

TEST(AdaGc, WarmupClipsAllAlikeAndKeepsTheLeastNorm) {
    AdaGc clip({.warmup = 3, .absolute = 5}, 2);
    EXPECT_THAT(clip.factors({6, 8}, 10), ElementsAre(0.5, 0.5));
    EXPECT_THAT(clip.averages(), ElementsAre(3, 4));
    EXPECT_THAT(clip.factors({3, 4}, 5), ElementsAre(1, 1));
    EXPECT_THAT(clip.factors({2, 4.5}, 4.93), ElementsAre(1, 1));
    EXPECT_THAT(clip.averages(), ElementsAre(2, 4));
}

TEST(AdaGc, EachTensorIsHeldToItsOwnAverage) {
    AdaGc clip({.relative = 1.5, .weight = 0.9, .warmup = 1, .absolute = 100}, 2);
    clip.factors({2, 10}, 10.2);
    EXPECT_THAT(clip.factors({30, 10}, 31.7), ElementsAre(DoubleEq(0.1), 1));  // 1.5 x 2 allowed
    EXPECT_THAT(clip.averages(), ElementsAre(DoubleEq(0.9 * 2 + 0.1 * 3), DoubleEq(10)));
}

TEST(AdaGc, ATensorWithoutGradientsInTheWarmupIsNotHeldToZero) {
    AdaGc clip({.warmup = 1}, 1);
    clip.factors({0}, 0);
    EXPECT_THAT(clip.factors({0.5}, 0.5), ElementsAre(1));
    EXPECT_GT(clip.averages()[0], 0);
}

TEST(AdaGc, TheWarmupGoesByTheNormOfTensorsElsewhereToo) {
    AdaGc clip({.warmup = 1, .absolute = 1}, 1);
    EXPECT_THAT(clip.factors({1}, 4), ElementsAre(0.25));
}

TEST(AdaGc, GoesOnFromWhatWasSaved) {
    AdaGc first({.relative = 1.5, .warmup = 1}, 2), second({.relative = 1.5, .warmup = 1}, 2);
    first.factors({2, 10}, 10.2);
    second.restore(first.updates(), first.averages());
    EXPECT_THAT(second.factors({30, 10}, 31.7), first.factors({30, 10}, 31.7));
}

TEST(AdaGc, WithoutALimitTheWarmupClipsNothing) {
    AdaGc clip({.warmup = 1, .absolute = 0}, 1);
    EXPECT_THAT(clip.factors({100}, 100), ElementsAre(1));
}

}  // namespace
}  // namespace plimsoll
