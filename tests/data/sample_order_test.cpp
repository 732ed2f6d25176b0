// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/data/corpus.h"
#include "core/data/sample_order.h"

namespace plimsoll {
namespace {

using ::testing::ElementsAre;

std::vector<std::size_t> offsets(const SampleOrder& order, std::uint64_t first, std::size_t count) {
    std::vector<std::size_t> out;
    for (std::uint64_t i = first; i < first + count; ++i) out.push_back(order.offset(i));
    return out;
}

TEST(SampleOrder, EachWindowComesOncePerEpochAndStaysInTheText) {
    constexpr std::size_t size = 1003;
    const SampleOrder order(size, 7, 42);
    ASSERT_EQ(order.samples_per_epoch(), 143U);  // (1003 - 1) / 7
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::set<std::size_t> seen;
        for (const std::size_t offset : offsets(order, epoch * 143, 143)) {
            EXPECT_EQ(offset % 7, 0U);
            EXPECT_LE(offset + 7 + 1, size);
            EXPECT_TRUE(seen.insert(offset).second) << offset << " comes twice in epoch " << epoch;
        }
    }
}

TEST(SampleOrder, LastByteIsUsedAsATarget) {
    EXPECT_EQ(SampleOrder(8, 7, 0).samples_per_epoch(), 1U);
    EXPECT_EQ(SampleOrder(14, 7, 0).samples_per_epoch(), 1U);
    EXPECT_EQ(SampleOrder(15, 7, 0).samples_per_epoch(), 2U);
}

TEST(SampleOrder, EpochsAndSeedsDiffer) {
    const SampleOrder a(10'001, 10, 1);
    const SampleOrder b(10'001, 10, 2);
    const auto first = offsets(a, 0, 1000);
    EXPECT_NE(first, offsets(a, 1000, 1000));
    EXPECT_NE(first, offsets(b, 0, 1000));
    EXPECT_NE(offsets(a, 1000, 1000), offsets(b, 0, 1000)) << "epoch 1 of seed 1 is not epoch 0 of seed 2";
}

// Computed with an independent Python implementation of SplitMix64 (checked against the published first output of seed
// 1234567, 6457827717110365317) and Fisher-Yates. A change here changes every run that is resumed.
TEST(SampleOrder, OrderIsTheSameOnEveryMachine) {
    EXPECT_THAT(offsets(SampleOrder(41, 4, 1), 0, 20),
                ElementsAre(0, 32, 4, 16, 8, 12, 24, 36, 28, 20, 16, 36, 28, 12, 20, 8, 0, 32, 24, 4));
    EXPECT_THAT(offsets(SampleOrder(41, 4, 2), 0, 10), ElementsAre(32, 36, 12, 16, 8, 28, 4, 0, 24, 20));
    constexpr std::uint64_t epoch_3 = 3 * 32'446;
    EXPECT_THAT(offsets(SampleOrder(4'153'205, 128, 1), epoch_3, 5),
                ElementsAre(345'216, 668'672, 3'715'584, 4'142'592, 4'058'240));
}

TEST(SampleOrder, AnyIndexCanBeAskedForInAnyOrder) {
    const SampleOrder forwards(501, 5, 9);
    const auto in_order = offsets(forwards, 0, 300);
    const SampleOrder backwards(501, 5, 9);
    for (std::size_t i = 300; i-- > 0;) EXPECT_EQ(backwards.offset(i), in_order[i]);
}

// A run on one rank and a run on four take the same samples for each global batch, also across the end of an epoch.
TEST(SampleOrder, GlobalBatchIsTheSameForEveryWorldSize) {
    constexpr std::uint64_t global_batch = 8;
    const SampleOrder one(501, 5, 3);
    for (const std::uint64_t ranks : {2U, 4U, 8U}) {
        std::vector<SampleOrder> each(ranks, SampleOrder(501, 5, 3));
        for (std::uint64_t step = 0; step < 40; ++step) {
            std::multiset<std::size_t> whole;
            std::multiset<std::size_t> together;
            for (std::uint64_t i = 0; i < global_batch; ++i) whole.insert(one.offset(step * global_batch + i));
            for (std::uint64_t rank = 0; rank < ranks; ++rank) {
                for (std::uint64_t i = rank; i < global_batch; i += ranks) {
                    together.insert(each[rank].offset(step * global_batch + i));
                }
            }
            ASSERT_EQ(whole, together) << "step " << step << ", " << ranks << " ranks";
        }
    }
}

TEST(SampleOrder, EveryPlaceIsAboutEquallyLikely) {
    std::vector<int> first(10, 0);
    for (std::uint64_t seed = 0; seed < 10'000; ++seed) ++first[SampleOrder(11, 1, seed).offset(0)];
    // 1000 expected, standard deviation 30: six of them
    for (const int count : first) EXPECT_NEAR(count, 1000, 180);
}

}  // namespace
}  // namespace plimsoll
