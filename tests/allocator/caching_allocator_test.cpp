// SPDX-License-Identifier: Apache-2.0
// The numbers follow from the rules in caching_allocator.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "core/allocator/caching_allocator.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::int64_t take(CachingAllocator& allocator, Bytes bytes) { return allocator.allocate(bytes).value(); }

TEST(CachingAllocator, RoundsTo512Bytes) {
    CachingAllocator allocator;
    take(allocator, 1);
    EXPECT_EQ(allocator.figures().allocated, 512);
    take(allocator, 513);
    EXPECT_EQ(allocator.figures().allocated, 512 + 1024);
    EXPECT_EQ(allocator.figures().requested, 514);
    EXPECT_EQ(allocator.figures().reserved, 2 * MiB);
    EXPECT_EQ(allocator.figures().segments, 1);
}

TEST(CachingAllocator, SmallRequestsShareSegmentsOf2MiB) {
    CachingAllocator allocator;
    take(allocator, MiB);
    take(allocator, MiB);
    EXPECT_EQ(allocator.figures().reserved, 2 * MiB);
    take(allocator, 1);
    EXPECT_EQ(allocator.figures().reserved, 4 * MiB);
    EXPECT_EQ(allocator.figures().inactive_split, 2 * MiB - 512);
}

TEST(CachingAllocator, LargeRequestsBelow10MiBShareSegmentsOf20MiB) {
    CachingAllocator allocator;
    take(allocator, MiB + 1);
    EXPECT_EQ(allocator.figures().reserved, 20 * MiB);
    take(allocator, 10 * MiB - 512);
    EXPECT_EQ(allocator.figures().reserved, 20 * MiB);
    take(allocator, 10 * MiB);  // a segment of its own
    EXPECT_EQ(allocator.figures().reserved, 30 * MiB);
    take(allocator, 11 * MiB + 1);
    EXPECT_EQ(allocator.figures().reserved, 42 * MiB);
    EXPECT_EQ(allocator.figures().segments, 3);
}

TEST(CachingAllocator, LargeBlocksAreSplitWhereMoreThan1MiBRemains) {
    CachingAllocator allocator;
    allocator.free(take(allocator, 40 * MiB));
    const auto most = take(allocator, 39 * MiB);  // 1 MiB remains: all 40 are handed out
    EXPECT_EQ(allocator.figures().allocated, 40 * MiB);
    allocator.free(most);
    take(allocator, 39 * MiB - 512);
    EXPECT_EQ(allocator.figures().allocated, 39 * MiB - 512);
    EXPECT_EQ(allocator.figures().inactive_split, MiB + 512);
    EXPECT_EQ(allocator.figures().reserved, 40 * MiB);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatFits) {
    CachingAllocator allocator;
    const auto big = take(allocator, 60 * MiB), fit = take(allocator, 30 * MiB);
    allocator.free(big);
    allocator.free(fit);
    take(allocator, 30 * MiB);
    take(allocator, 60 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 90 * MiB);
    EXPECT_EQ(allocator.figures().fragmentation(), 0);
}

TEST(CachingAllocator, NeighboursMergeOnFree) {
    CachingAllocator allocator;
    const auto a = take(allocator, 5 * MiB), b = take(allocator, 5 * MiB), c = take(allocator, 5 * MiB);
    allocator.free(a);
    allocator.free(c);
    EXPECT_EQ(allocator.figures().inactive_split, 15 * MiB);
    allocator.free(b);
    EXPECT_EQ(allocator.figures().inactive_split, 0);
    take(allocator, 20 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 20 * MiB);
}

TEST(CachingAllocator, BlocksThatStandKeepTheirSegments) {
    CachingAllocator allocator;
    const auto a = take(allocator, 9 * MiB);
    take(allocator, 2 * MiB);
    allocator.free(a);
    const auto free = take(allocator, 30 * MiB);
    allocator.free(free);
    allocator.release_unused();
    EXPECT_EQ(allocator.figures().reserved, 20 * MiB);
    EXPECT_EQ(allocator.figures().inactive_split, 18 * MiB);
}

TEST(CachingAllocator, MaxSplitSizeKeepsOversizeBlocksWhole) {
    AllocatorSettings settings;
    settings.max_split_size = 32 * MiB;
    CachingAllocator allocator(settings);
    allocator.free(take(allocator, 64 * MiB));
    const auto small = take(allocator, 10 * MiB);  // may not take the block of 64
    EXPECT_EQ(allocator.figures().reserved, 74 * MiB);
    take(allocator, 44 * MiB);  // 20 MiB less than the block: it leaves too much
    EXPECT_EQ(allocator.figures().reserved, 118 * MiB);
    const Bytes before = allocator.figures().allocated;
    take(allocator, 44 * MiB + 512);  // taken whole
    EXPECT_EQ(allocator.figures().reserved, 118 * MiB);
    EXPECT_EQ(allocator.figures().allocated - before, 64 * MiB);
    allocator.free(small);
}

TEST(CachingAllocator, AFullCardGetsUnusedSegmentsBackFirst) {
    CachingAllocator allocator({}, 100 * MiB);
    const auto a = take(allocator, 40 * MiB), b = take(allocator, 40 * MiB);
    allocator.free(a);
    allocator.free(b);
    take(allocator, 90 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 90 * MiB);
    EXPECT_EQ(allocator.figures().reserved_peak, 90 * MiB);
    EXPECT_EQ(allocator.figures().retries, 1);
}

TEST(CachingAllocator, OversizeBlocksAreGivenBackBeforeTheRest) {
    AllocatorSettings settings;
    settings.max_split_size = 32 * MiB;
    CachingAllocator allocator(settings, 100 * MiB);
    const auto a = take(allocator, 60 * MiB), b = take(allocator, 12 * MiB);
    allocator.free(a);
    allocator.free(b);
    take(allocator, 34 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 46 * MiB) << "the 12 MiB stayed";
    EXPECT_EQ(allocator.figures().retries, 0);
}

TEST(CachingAllocator, OutOfMemoryNamesTheFigures) {
    CachingAllocator allocator({}, 64 * MiB);
    take(allocator, 30 * MiB);
    take(allocator, 5 * MiB);
    const auto failed = allocator.allocate(16 * MiB);
    ASSERT_FALSE(failed);
    EXPECT_THAT(failed.error().message, HasSubstr("tried to allocate 16.0 MiB"));
    EXPECT_THAT(failed.error().message, HasSubstr("14.0 MiB are free"));
    EXPECT_THAT(failed.error().message, HasSubstr("35.0 MiB are allocated and 15.0 MiB reserved but not allocated"));
    EXPECT_FALSE(allocator.allocate(INT64_MAX));
    EXPECT_EQ(allocator.figures().allocated, 35 * MiB);
}

TEST(CachingAllocator, ExpandableSegmentsGrowByPages) {
    AllocatorSettings settings;
    settings.expandable_segments = true;
    CachingAllocator allocator(settings, 1000 * MiB);
    take(allocator, 30 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 40 * MiB);
    take(allocator, 9 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 40 * MiB);
    take(allocator, 2 * MiB);  // 1 MiB is there, another page follows
    EXPECT_EQ(allocator.figures().reserved, 60 * MiB);
    EXPECT_EQ(allocator.figures().allocated, 41 * MiB);
    EXPECT_EQ(allocator.figures().segments, 1);
    take(allocator, 1);
    EXPECT_EQ(allocator.figures().reserved, 62 * MiB);
    EXPECT_EQ(allocator.figures().segments, 2);
}

TEST(CachingAllocator, ExpandableSegmentsGiveWholePagesBack) {
    AllocatorSettings settings;
    settings.expandable_segments = true;
    CachingAllocator allocator(settings, 100 * MiB);
    const auto a = take(allocator, 30 * MiB);
    take(allocator, 30 * MiB);  // 30 to 60
    EXPECT_EQ(allocator.figures().reserved, 60 * MiB);
    allocator.free(a);
    allocator.release_unused();  // 0 to 20 is one page; 20 to 30 shares one with the second block
    EXPECT_EQ(allocator.figures().reserved, 40 * MiB);
    take(allocator, 25 * MiB);  // the page again, with the 10 MiB behind it
    EXPECT_EQ(allocator.figures().reserved, 60 * MiB);
    take(allocator, 40 * MiB);
    EXPECT_EQ(allocator.figures().reserved, 100 * MiB);
    EXPECT_FALSE(allocator.allocate(10 * MiB));
}

TEST(CachingAllocator, ExpandableSegmentsFragmentLess) {
    AllocatorSettings expandable;
    expandable.expandable_segments = true;
    CachingAllocator grows(expandable), cuts;
    // Ever larger requests: each needs a segment of its own, or a longer tail.
    for (CachingAllocator* allocator : {&grows, &cuts}) {
        for (Bytes size = 20 * MiB; size <= 40 * MiB; size += 4 * MiB) allocator->free(take(*allocator, size));
    }
    EXPECT_EQ(grows.figures().reserved, 40 * MiB);
    EXPECT_EQ(cuts.figures().reserved, (20 + 24 + 28 + 32 + 36 + 40) * MiB);
}

TEST(CachingAllocator, GarbageIsCollectedAboveTheThreshold) {
    AllocatorSettings settings;
    settings.garbage_collection_threshold = 0.5;
    CachingAllocator allocator(settings, 200 * MiB);
    allocator.free(take(allocator, 50 * MiB));
    allocator.free(take(allocator, 60 * MiB));
    EXPECT_EQ(allocator.figures().reserved, 110 * MiB);
    take(allocator, 70 * MiB);  // above 100 MiB: the older of the two goes
    EXPECT_EQ(allocator.figures().reserved, 130 * MiB);
}

TEST(CachingAllocator, RoundsToStepsBetweenPowersOfTwo) {
    AllocatorSettings settings;
    settings.roundup_power2_divisions = 4;
    const CachingAllocator allocator(settings);
    EXPECT_EQ(allocator.rounded(1200), 1536);  // below 512 x 4 as without
    EXPECT_EQ(allocator.rounded(1200 * KiB), 1280 * KiB);
    EXPECT_EQ(allocator.rounded(1024 * KiB), 1024 * KiB);
    EXPECT_EQ(allocator.rounded(1800 * KiB), 2048 * KiB);
}

TEST(CachingAllocator, NothingIsLostOverManyRequests) {
    for (const char* text :
         {"", "expandable_segments:True", "max_split_size_mb:40", "garbage_collection_threshold:0.6"}) {
        CachingAllocator allocator(parse_allocator_settings(text).value(), 4 * GiB);
        std::mt19937_64 random(7);
        std::vector<std::pair<std::int64_t, Bytes>> held;
        Bytes requested = 0;
        for (int i = 0; i < 20'000; ++i) {
            if (held.size() > 100 || (!held.empty() && random() % 2 == 0)) {
                const std::size_t at = random() % held.size();
                allocator.free(held[at].first);
                requested -= held[at].second;
                held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
            } else {
                const Bytes bytes = static_cast<Bytes>(random() % (Bytes{1} << (10 + random() % 16)));
                const auto handle = allocator.allocate(bytes);
                if (!handle) continue;
                held.emplace_back(*handle, bytes);
                requested += bytes;
            }
            const AllocatorFigures& figures = allocator.figures();
            ASSERT_EQ(figures.requested, requested) << text << i;
            ASSERT_GE(figures.allocated, figures.requested);
            ASSERT_GE(figures.reserved, figures.allocated);
            ASSERT_LE(figures.reserved, 4 * GiB);
            ASSERT_GE(figures.inactive_split, 0);
            ASSERT_LE(figures.inactive_split, figures.reserved - figures.allocated);
        }
        for (const auto& [handle, bytes] : held) allocator.free(handle);
        EXPECT_EQ(allocator.figures().allocated, 0) << text;
        EXPECT_EQ(allocator.figures().inactive_split, 0) << text;
        allocator.release_unused();
        EXPECT_EQ(allocator.figures().reserved, 0) << text;
    }
}

TEST(AllocatorSettings, ReadsWhatPyTorchReads) {
    const auto settings = parse_allocator_settings(
        "expandable_segments:True, max_split_size_mb:128,garbage_collection_threshold:0.8,roundup_power2_divisions:8");
    ASSERT_TRUE(settings);
    EXPECT_TRUE(settings->expandable_segments);
    EXPECT_EQ(settings->max_split_size, 128 * MiB);
    EXPECT_EQ(settings->garbage_collection_threshold, 0.8);
    EXPECT_EQ(settings->roundup_power2_divisions, 8);
    EXPECT_TRUE(parse_allocator_settings(""));
}

TEST(AllocatorSettings, RefusesWhatItCannotModel) {
    for (const char* text : {"expandable_segments:yes", "max_split_size_mb:20", "max_split_size_mb:1e3",
                             "max_split_size_mb:99999999999999999999", "garbage_collection_threshold:1",
                             "garbage_collection_threshold:nan", "roundup_power2_divisions:3", "backend:native",
                             "max_split_size_mb", ","}) {
        const auto settings = parse_allocator_settings(text);
        ASSERT_FALSE(settings) << text;
        EXPECT_EQ(exit_code(settings.error()), 2);
    }
    EXPECT_THAT(parse_allocator_settings("expandable_segment:True").error().message,
                HasSubstr("did you mean \"expandable_segments\"?"));
}

}  // namespace
}  // namespace plimsoll
