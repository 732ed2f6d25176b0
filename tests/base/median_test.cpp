// SPDX-License-Identifier: Apache-2.0
#include "core/base/median.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Median, IsTheMiddleValueOrTheMeanOfTheMiddleTwo) {
    EXPECT_EQ(median({}), 0);
    EXPECT_EQ(median({7}), 7);
    EXPECT_EQ(median({9, 1, 4}), 4);
    EXPECT_EQ(median({8, 1, 4, 100}), 6);
}

}  // namespace
}  // namespace plimsoll
