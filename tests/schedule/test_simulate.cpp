// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/schedule/schedule.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

Timeline simulated(Schedule kind, int stages, int micro_batches, const StageTimes& times) {
    const auto schedule = make_schedule(kind, stages, micro_batches);
    EXPECT_TRUE(schedule);
    auto timeline = simulate(*schedule, times);
    EXPECT_TRUE(timeline) << timeline.error().message;
    return timeline ? *timeline : Timeline{};
}

std::string error_of(const PipelineSchedule& schedule) {
    const auto timeline = simulate(schedule, StageTimes::uniform(schedule.stages, 1, 2));
    return timeline ? "" : timeline.error().message;
}

class BothSchedules : public testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(All, BothSchedules, testing::Values(Schedule::GPipe, Schedule::OneFOneB),
                         [](const auto& kind) { return kind.param == Schedule::GPipe ? "GPipe" : "OneFOneB"; });

// (p - 1) / (m + p - 1): Huang et al. 2019, Narayanan et al. 2021.
TEST_P(BothSchedules, BubbleIsTheClosedForm) {
    for (const int p : {1, 2, 3, 4, 7, 8, 16, 33, 64})
        for (const int m : {1, 2, 3, 5, 8, 31, 64, 200}) {
            const auto timeline = simulated(GetParam(), p, m, StageTimes::uniform(p, 1, 2));
            EXPECT_NEAR(timeline.bubble, closed_form_bubble(p, m), 1e-12) << "p " << p << ", m " << m;
            EXPECT_NEAR(timeline.makespan, 3.0 * (m + p - 1), 1e-9) << "p " << p << ", m " << m;
        }
}

TEST_P(BothSchedules, EveryOpRunsOnceAndAfterWhatItNeeds) {
    const StageTimes times{{1, 1.5, 0.5, 2}, {2, 2, 1, 5}, 0.25};
    const auto timeline = simulated(GetParam(), 4, 6, times);
    std::vector<std::vector<Seconds>> forward(4, std::vector<Seconds>(6, -1)), backward = forward;
    for (const auto& stage : timeline.stages) {
        ASSERT_EQ(stage.size(), 12u);
        Seconds last_end = 0;
        for (const auto& timed : stage) {
            EXPECT_GE(timed.start, last_end);
            last_end = timed.end;
            auto& ends = timed.op.kind == OpKind::Forward ? forward : backward;
            ends[static_cast<std::size_t>(timed.stage)][static_cast<std::size_t>(timed.op.micro_batch)] = timed.end;
        }
    }
    for (std::size_t s = 0; s < 4; ++s)
        for (std::size_t m = 0; m < 6; ++m) {
            if (s > 0) {
                EXPECT_GE(forward[s][m], forward[s - 1][m] + times.send + times.forward[s]);
                EXPECT_GE(backward[s - 1][m], backward[s][m] + times.send + times.backward[s - 1]);
            }
            EXPECT_GE(backward[s][m], forward[s][m] + times.backward[s]);
        }
}

TEST(Simulate, ActivationsInFlightAreTheTextbookCounts) {
    for (const int p : {1, 2, 4, 8})
        for (const int m : {1, 2, 4, 8, 20}) {
            const auto gpipe = simulated(Schedule::GPipe, p, m, StageTimes::uniform(p, 1, 2));
            const auto one = simulated(Schedule::OneFOneB, p, m, StageTimes::uniform(p, 1, 2));
            for (int stage = 0; stage < p; ++stage) {
                EXPECT_EQ(gpipe.peak_in_flight[static_cast<std::size_t>(stage)], m);
                EXPECT_EQ(one.peak_in_flight[static_cast<std::size_t>(stage)], std::min(m, p - stage));
                if (p > 1) {
                    EXPECT_EQ(peak_in_flight(Schedule::GPipe, p, stage, m), m);
                    EXPECT_EQ(peak_in_flight(Schedule::OneFOneB, p, stage, m), std::min(m, p - stage));
                }
            }
        }
}

TEST(Simulate, OneStageHoldsOneMicroBatchAndNeverWaits) {
    EXPECT_EQ(peak_in_flight(Schedule::GPipe, 1, 0, 8), 1);
    const auto timeline = simulated(Schedule::OneFOneB, 1, 8, StageTimes::uniform(1, 1, 2, 100));
    EXPECT_DOUBLE_EQ(timeline.makespan, 24);
    EXPECT_DOUBLE_EQ(timeline.bubble, 0);
}

TEST_P(BothSchedules, SlowestStageSetsThePace) {
    // Stage 1 is busy 8 x (4 + 6); stage 0's first forward comes before, its last backward after.
    const auto timeline = simulated(GetParam(), 2, 8, StageTimes{{1, 4}, {2, 6}, 0});
    EXPECT_DOUBLE_EQ(timeline.makespan, 1 + 8 * (4 + 6) + 2);
    EXPECT_DOUBLE_EQ(timeline.idle[1], 3);
    EXPECT_DOUBLE_EQ(timeline.idle[0], 83 - 8 * 3);
    EXPECT_NEAR(timeline.bubble, (3.0 + 59.0) / (2 * 83), 1e-12);
}

TEST(Simulate, SendTimeIsPaidOnTheWayDownAndUp) {
    // One micro-batch through three stages: three forwards, three backwards, four sends.
    EXPECT_DOUBLE_EQ(simulated(Schedule::GPipe, 3, 1, StageTimes::uniform(3, 1, 2, 0.5)).makespan, 9 + 4 * 0.5);
}

// Narayanan et al. 2021: (p - 1) / (v m + p - 1) with v chunks a stage. The order is Megatron-LM's for p = 2, m = 2, v
// = 2.
TEST(Simulate, InterleavedChunksHalveTheBubble) {
    const auto f = [](int m, int chunk) { return PipelineOp{OpKind::Forward, m, chunk}; };
    const auto b = [](int m, int chunk) { return PipelineOp{OpKind::Backward, m, chunk}; };
    const PipelineSchedule schedule{2,
                                    2,
                                    {{f(0, 0), f(1, 0), f(0, 1), f(1, 1), b(0, 1), b(1, 1), b(0, 0), b(1, 0)},
                                     {f(0, 0), f(1, 0), f(0, 1), b(0, 1), f(1, 1), b(1, 1), b(0, 0), b(1, 0)}}};
    const auto timeline = simulate(schedule, StageTimes::uniform(2, 1, 1));
    ASSERT_TRUE(timeline) << timeline.error().message;
    EXPECT_NEAR(timeline->bubble, 1.0 / 5, 1e-12);
    EXPECT_NEAR(closed_form_bubble(2, 4), 1.0 / 5, 1e-12);
}

TEST(Simulate, DeadlockNamesTheStageAndTheOp) {
    auto schedule = *make_schedule(Schedule::OneFOneB, 2, 2);
    // Stage 0 wants a gradient before it has sent the micro-batch that stage 1 starts with.
    schedule.ops[0] = {{OpKind::Forward, 0}, {OpKind::Backward, 0}, {OpKind::Forward, 1}, {OpKind::Backward, 1}};
    schedule.ops[1] = {{OpKind::Forward, 1}, {OpKind::Backward, 1}, {OpKind::Forward, 0}, {OpKind::Backward, 0}};
    EXPECT_THAT(error_of(schedule),
                HasSubstr("stage 0 hangs at its operation 1, the backward of micro-batch 0, because "
                          "stage 1 never gets to the backward of micro-batch 0"));
}

TEST(Simulate, BackwardBeforeItsOwnForwardIsADeadlock) {
    const PipelineSchedule schedule{1, 1, {{{OpKind::Backward, 0}, {OpKind::Forward, 0}}}};
    EXPECT_THAT(error_of(schedule), HasSubstr("stage 0 never gets to the forward of micro-batch 0"));
}

TEST(Simulate, MissingAndRepeatedOpsAreNamed) {
    auto missing = *make_schedule(Schedule::GPipe, 3, 2);
    missing.ops[1].pop_back();
    EXPECT_THAT(error_of(missing), HasSubstr("stage 1 never runs the backward of micro-batch 1"));
    auto repeated = *make_schedule(Schedule::GPipe, 3, 2);
    repeated.ops[2][1] = repeated.ops[2][0];
    EXPECT_THAT(error_of(repeated), HasSubstr("stage 2 lists the forward of micro-batch 0 twice"));
}

TEST(Simulate, RefusesListsAndTimesThatMakeNoSense) {
    EXPECT_THAT(error_of({2, 1, {{{OpKind::Forward, 0}, {OpKind::Backward, 0}}}}), HasSubstr("one list a stage"));
    EXPECT_THAT(error_of({1, 1, {{{OpKind::Forward, 7}, {OpKind::Backward, 0}}}}),
                HasSubstr("forward of micro-batch 7"));
    EXPECT_THAT(error_of({0, 0, {}}), HasSubstr("at least one stage"));
    EXPECT_THAT(error_of({1, 1, {{{OpKind::Forward, 0, 2147483647}}}}), HasSubstr("more than the"));

    const auto schedule = *make_schedule(Schedule::GPipe, 2, 1);
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_FALSE(simulate(schedule, StageTimes::uniform(3, 1, 1)));
    EXPECT_FALSE(simulate(schedule, StageTimes::uniform(2, nan, 1)));
    EXPECT_FALSE(simulate(schedule, StageTimes::uniform(2, 1, -1)));
    EXPECT_FALSE(simulate(schedule, StageTimes::uniform(2, 1, 1, nan)));
}

TEST(Simulate, NoTimeAtAllIsNoBubble) {
    EXPECT_EQ(simulated(Schedule::GPipe, 2, 2, StageTimes::uniform(2, 0, 0)).bubble, 0);
}

}  // namespace
}  // namespace plimsoll
