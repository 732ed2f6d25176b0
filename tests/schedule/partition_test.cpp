// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The slowest stage of the best split, by trying all of them.
Seconds best_by_trying(const std::vector<Seconds>& times, std::size_t from, int stages, bool first, Seconds first_extra,
                       Seconds last_extra) {
    Seconds sum = first ? first_extra : 0;
    if (stages == 1) {
        for (std::size_t l = from; l < times.size(); ++l) sum += times[l];
        return sum + last_extra;
    }
    Seconds best = std::numeric_limits<double>::infinity();
    for (std::size_t to = from + 1; to + static_cast<std::size_t>(stages) - 1 <= times.size(); ++to) {
        sum += times[to - 1];
        best = std::min(best, std::max(sum, best_by_trying(times, to, stages - 1, false, 0, last_extra)));
    }
    return best;
}

TEST(BalancedPartition, IsAsGoodAsTryingAll) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> time(0, 3);
    for (int round = 0; round < 200; ++round) {
        const std::size_t layers = 1 + random() % 11;
        const int stages = 1 + static_cast<int>(random() % layers);
        std::vector<Seconds> times(layers);
        for (auto& t : times) t = round % 3 == 0 ? std::floor(time(random)) : time(random);
        const double first = time(random), last = time(random);
        const auto partition = balanced_partition(times, stages, first, last);
        ASSERT_TRUE(partition) << partition.error().message;
        EXPECT_NEAR(partition->slowest, best_by_trying(times, 0, stages, true, first, last), 1e-12);
        std::int64_t held = 0;
        for (const auto count : partition->layers) {
            EXPECT_GE(count, 1);
            held += count;
        }
        EXPECT_EQ(held, static_cast<std::int64_t>(layers));
    }
}

TEST(BalancedPartition, TheHeadTakesLayersOffTheLastStage) {
    // 10 layers of 1, a head of 2 on the last of 3 stages: 4, 4, 2 + 2.
    const auto partition = balanced_partition(std::vector<Seconds>(10, 1), 3, 0, 2);
    EXPECT_THAT(partition->layers, ElementsAre(4, 4, 2));
    EXPECT_DOUBLE_EQ(partition->slowest, 4);
    EXPECT_DOUBLE_EQ(partition->imbalance, 0);
    const auto even = partition_of({4, 3, 3}, std::vector<Seconds>(10, 1), 0, 2);
    EXPECT_DOUBLE_EQ(even.slowest, 5);
    EXPECT_DOUBLE_EQ(even.imbalance, 5 / 4.0 - 1);
}

TEST(BalancedPartition, RefusesWhatCannotBeSplit) {
    EXPECT_THAT(balanced_partition(std::vector<Seconds>(3, 1), 4).error().message, HasSubstr("take 3 stages or fewer"));
    EXPECT_FALSE(balanced_partition({1, -1}, 2));
    EXPECT_FALSE(balanced_partition({1, NAN}, 2));
    EXPECT_FALSE(balanced_partition({1, 1}, 0));
}

}  // namespace
}  // namespace plimsoll
