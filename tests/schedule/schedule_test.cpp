// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/check_schedule.h"
#include "core/schedule/generators/auto_schedule.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/schedule.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string written(const PipelineSchedule& schedule, int rank) {
    std::string text;
    for (const auto& op : schedule.ops[static_cast<std::size_t>(rank)])
        text += short_name(op, schedule.chunks > 1) + " ";
    return text;
}

PipelineSchedule made(Schedule kind, int ranks, int micro_batches, int chunks = 1) {
    auto schedule = make_schedule(kind, {ranks, micro_batches, chunks});
    EXPECT_TRUE(schedule) << schedule.error().message;
    return schedule ? *schedule : PipelineSchedule{};
}

TEST(MakeSchedule, GPipeRunsAllForwardsThenAllBackwards) {
    const auto schedule = made(Schedule::GPipe, 3, 2);
    for (int rank = 0; rank < 3; ++rank) EXPECT_EQ(written(schedule, rank), "F0 F1 B0 B1 ");
}

// Narayanan et al. 2021 (Megatron-LM), figure 4, top: 4 devices, 8 micro-batches.
TEST(MakeSchedule, OneFOneBWarmsUpThenAlternates) {
    const auto schedule = made(Schedule::OneFOneB, 4, 8);
    EXPECT_EQ(written(schedule, 0), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 ");
    EXPECT_EQ(written(schedule, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 ");
}

TEST(MakeSchedule, FewerMicroBatchesThanStages) {
    const auto schedule = made(Schedule::OneFOneB, 4, 2);
    EXPECT_EQ(written(schedule, 0), "F0 F1 B0 B1 ");
    EXPECT_EQ(written(schedule, 2), "F0 F1 B0 B1 ");
    EXPECT_EQ(written(schedule, 3), "F0 B0 F1 B1 ");
}

// Narayanan et al. 2021, figure 4, bottom: 4 devices, 8 micro-batches, 2 chunks. Device 1 warms up with 11 forwards.
TEST(MakeSchedule, InterleavedGoesRoundTheRanks) {
    const auto schedule = made(Schedule::Interleaved, 4, 8, 2);
    EXPECT_THAT(
        written(schedule, 0),
        testing::StartsWith("F0.0 F1.0 F2.0 F3.0 F0.1 F1.1 F2.1 F3.1 F4.0 F5.0 F6.0 B0.1 F7.0 B1.1 F4.1 B2.1 "));
    EXPECT_THAT(written(schedule, 3), testing::StartsWith("F0.0 F1.0 F2.0 F3.0 F0.1 B0.1 F1.1 B1.1 F2.1 B2.1 "));
    EXPECT_THAT(written(schedule, 3), testing::EndsWith("F7.1 B7.1 B4.0 B5.0 B6.0 B7.0 "));
}

TEST(MakeSchedule, InterleavedWithOneChunkIsOneFOneB) {
    EXPECT_EQ(made(Schedule::Interleaved, 4, 6, 1).ops, made(Schedule::OneFOneB, 4, 6).ops);
}

// Lamy-Poirier 2022, figure 2: each chunk takes all micro-batches before the next begins.
TEST(MakeSchedule, BreadthFirstTakesAllMicroBatchesAChunk) {
    EXPECT_EQ(written(made(Schedule::BreadthFirst, 2, 3, 2), 1),
              "F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 B0.1 B1.1 B2.1 B0.0 B1.0 B2.0 ");
}

// Qi et al. 2024, figure 3: 4 devices, 8 micro-batches.
TEST(MakeSchedule, ZeroBubbleHandcrafted) {
    const auto h1 = made(Schedule::ZbH1, 4, 8);
    EXPECT_EQ(written(h1, 0), "F0 F1 F2 F3 B0 W0 F4 B1 W1 F5 B2 W2 F6 B3 W3 F7 B4 W4 B5 W5 B6 W6 B7 W7 ");
    EXPECT_EQ(written(h1, 3), "F0 B0 F1 B1 F2 B2 F3 B3 W0 F4 B4 W1 F5 B5 W2 F6 B6 W3 F7 B7 W4 W5 W6 W7 ");
    const auto h2 = made(Schedule::ZbH2, 4, 8);
    EXPECT_EQ(written(h2, 0), "F0 F1 F2 F3 F4 F5 F6 B0 W0 F7 B1 W1 B2 W2 B3 W3 B4 W4 B5 W5 B6 W6 B7 W7 ");
    EXPECT_EQ(written(h2, 3), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 W0 F7 B7 W1 W2 W3 W4 W5 W6 W7 ");
}

// The V: rank 0 holds the first stage and the last.
TEST(MakeSchedule, VPlacementFoldsTheModel) {
    const auto schedule = made(Schedule::ZbV, 4, 8);
    EXPECT_EQ(schedule.stage_of(0, 0), 0);
    EXPECT_EQ(schedule.stage_of(0, 1), 7);
    EXPECT_EQ(schedule.stage_of(3, 1), 4);
    for (int stage = 0; stage < 8; ++stage)
        EXPECT_EQ(schedule.stage_of(schedule.rank_of(stage), schedule.chunk_of(stage)), stage);
}

// Every schedule of every shape runs to its end.
TEST(MakeSchedule, EveryListIsCompleteAndFreeOfDeadlock) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto kind = static_cast<Schedule>(k);
        for (const int p : {1, 2, 3, 4, 5, 7, 8, 16})
            for (const int m : {1, 2, 3, 4, 7, 8, 13, 16, 40})
                for (const int v : {1, 2, 3, 5}) {
                    if (chunks_of(kind, v) != v && v > 1) continue;
                    const auto schedule = make_schedule(kind, {p, m, v});
                    if (kind == Schedule::DualPipeV && m < 2 * p) {
                        EXPECT_THAT(schedule.error().message, HasSubstr("two micro-batches a rank"));
                        continue;
                    }
                    ASSERT_TRUE(schedule) << schedule.error().message;
                    const auto runs = check_schedule(*schedule);
                    EXPECT_TRUE(runs) << schedule_names[k] << " p " << p << " m " << m << " v " << v << ": "
                                      << runs.error().message;
                }
    }
}

// Peak activations in micro-batches of a rank. Qi et al. 2024 (both papers), DualPipe's README.
TEST(MakeSchedule, ActivationsStayWithinThePapersBounds) {
    for (const int p : {2, 4, 6, 8, 12, 16}) {
        const int m = 6 * p;
        const auto most = [&](Schedule kind) {
            const auto schedule = made(kind, p, m);
            int peak = 0;
            for (int rank = 0; rank < p; ++rank) peak = std::max(peak, peak_in_flight(schedule, rank));
            return peak;
        };
        EXPECT_EQ(most(Schedule::ZbH1), p);
        EXPECT_EQ(most(Schedule::ZbH2), 2 * p - 1);
        EXPECT_LE(most(Schedule::Zb1p), p);
        EXPECT_LE(most(Schedule::Zb2p), 2 * p);
        EXPECT_LE(most(Schedule::ZbV), 2 * p) << "p " << p;
        EXPECT_LE(most(Schedule::VHalf), 2 * ((p + 2) / 2) + 1) << "p " << p;
        EXPECT_LE(most(Schedule::VMin), 2 * ((p + 4) / 3) + 1) << "p " << p;
        EXPECT_LE(most(Schedule::DualPipeV), 2 * (p + 1)) << "p " << p;
    }
}

TEST(MakeSchedule, RefusesWhatCannotBeLaidOut) {
    const auto error = [](Schedule kind, ScheduleShape shape) { return make_schedule(kind, shape).error().message; };
    EXPECT_THAT(error(Schedule::GPipe, {0, 1}), HasSubstr("layout.pp"));
    EXPECT_THAT(error(Schedule::GPipe, {1, 0}), HasSubstr("layout.accumulation"));
    EXPECT_THAT(error(Schedule::Interleaved, {2, 2, 0}), HasSubstr("layout.chunks"));
    EXPECT_THAT(error(Schedule::OneFOneB, {2147483647, 2147483647}), HasSubstr("more than the"));
    EXPECT_THAT(error(Schedule::Interleaved, {4, 4, 2147483647}), HasSubstr("more than the"));
    EXPECT_THAT(error(Schedule::DualPipeV, {4, 7}), HasSubstr("layout.accumulation to 8 or more, or layout.pp to 3"));
    EXPECT_FALSE(make_schedule(Schedule::Zb2p, {4, 8}, StageTimes::uniform(4, -1, 1, 1)));
    EXPECT_FALSE(make_schedule(Schedule::Zb2p, {4, 8}, StageTimes::uniform(3, 1, 1, 1)));
}

}  // namespace
}  // namespace plimsoll
