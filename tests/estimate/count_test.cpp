// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/estimate/count.h"

namespace plimsoll {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

TEST(Count, IsExactUpToTheLargestInteger) {
    EXPECT_EQ((Count(most - 1) + 1).value(), most);
    EXPECT_EQ((Count(3'037'000'499) * 3'037'000'499).value(), 9'223'372'030'926'249'001);
}

TEST(Count, StaysAtTheLargestIntegerBeyondIt) {
    EXPECT_EQ((Count(most) + 1).value(), most);
    EXPECT_EQ((Count(most) * 2).value(), most);
    EXPECT_EQ((Count(most) * most * 0).value(), 0);
}

TEST(Count, IsNeverNegative) {
    EXPECT_EQ((Count(3) - 5).value(), 0);
    EXPECT_EQ((Count(5) - 3).value(), 2);
    EXPECT_EQ(Count(-1).value(), 0);
}

TEST(Share, RoundsUpSoThatTheFullestRankFits) {
    EXPECT_EQ(share(10, 4).value(), 3);
    EXPECT_EQ(share(8, 4).value(), 2);
    EXPECT_EQ(share(0, 4).value(), 0);
    EXPECT_EQ(share(most, 2).value(), most / 2 + 1);
}

}  // namespace
}  // namespace plimsoll
