// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/schedule/check_schedule.h"
#include "core/schedule/closed_form.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/in_flight.h"
#include "core/schedule/simulate.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

Timeline simulated(Schedule kind, int stages, int micro_batches, const StageTimes& times) {
    const auto schedule = make_schedule(kind, {stages, micro_batches});
    EXPECT_TRUE(schedule);
    auto timeline = simulate(*schedule, times);
    EXPECT_TRUE(timeline) << timeline.error().message;
    return timeline ? *timeline : Timeline{};
}

class BothSchedules : public testing::TestWithParam<Schedule> {};
INSTANTIATE_TEST_SUITE_P(All, BothSchedules, testing::Values(Schedule::GPipe, Schedule::OneFOneB),
                         [](const auto& kind) { return kind.param == Schedule::GPipe ? "GPipe" : "OneFOneB"; });

// (p - 1) / (m + p - 1): Huang et al. 2019, Narayanan et al. 2021.
TEST_P(BothSchedules, BubbleIsTheClosedForm) {
    for (const int p : {1, 2, 3, 4, 7, 8, 16, 33, 64})
        for (const int m : {1, 2, 3, 5, 8, 31, 64, 200}) {
            const auto timeline = simulated(GetParam(), p, m, StageTimes::uniform(p, 1, 1, 1));
            EXPECT_NEAR(timeline.bubble, closed_form_bubble(GetParam(), {p, m}, 1, 1, 1)->bubble, 1e-12)
                << "p " << p << ", m " << m;
            EXPECT_NEAR(timeline.makespan, 3.0 * (m + p - 1), 1e-9) << "p " << p << ", m " << m;
        }
}

TEST_P(BothSchedules, EveryOpRunsOnceAndAfterWhatItNeeds) {
    const StageTimes times{{1, 1.5, 0.5, 2}, {1, 1, 0.5, 2}, {1, 1, 0.5, 3}, {0.25, 0.5, 0.75}};
    const auto timeline = simulated(GetParam(), 4, 6, times);
    const auto backward_time = [&](std::size_t s) { return times.backward_input[s] + times.backward_weight[s]; };
    std::vector<std::vector<Seconds>> forward(4, std::vector<Seconds>(6, -1)), backward = forward;
    for (const auto& stage : timeline.ranks) {
        ASSERT_EQ(stage.size(), 12u);
        Seconds last_end = 0;
        for (const auto& timed : stage) {
            EXPECT_GE(timed.start, last_end);
            last_end = timed.end;
            auto& ends = timed.op.kind == OpKind::Forward ? forward : backward;
            ends[static_cast<std::size_t>(timed.rank)][static_cast<std::size_t>(timed.op.micro_batch)] = timed.end;
        }
    }
    for (std::size_t s = 0; s < 4; ++s)
        for (std::size_t m = 0; m < 6; ++m) {
            if (s > 0) {
                EXPECT_GE(forward[s][m], forward[s - 1][m] + times.send[s - 1] + times.forward[s]);
                EXPECT_GE(backward[s - 1][m], backward[s][m] + times.send[s - 1] + backward_time(s - 1));
            }
            EXPECT_GE(backward[s][m], forward[s][m] + backward_time(s));
        }
}

TEST(Simulate, ActivationsInFlightAreTheTextbookCounts) {
    for (const int p : {2, 4, 8})
        for (const int m : {1, 2, 4, 8, 20}) {
            const auto gpipe = *make_schedule(Schedule::GPipe, {p, m});
            const auto one = *make_schedule(Schedule::OneFOneB, {p, m});
            for (int rank = 0; rank < p; ++rank) {
                EXPECT_EQ(peak_in_flight(gpipe, rank), m);
                EXPECT_EQ(peak_in_flight(one, rank), std::min(m, p - rank));
            }
        }
}

// What the estimate counts with is what the lists hold.
TEST(Simulate, PeaksInFlightAreThoseOfTheLists) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto kind = static_cast<Schedule>(k);
        for (const int p : {2, 3, 8})
            for (const int m : {1, 3, 8, 16, 61}) {
                const auto schedule = make_schedule(kind, {p, m, 3});
                if (!schedule) continue;
                const auto peaks = peaks_in_flight(kind, p, m, 3);
                ASSERT_EQ(peaks.size(), static_cast<std::size_t>(p));
                for (int rank = 0; rank < p; ++rank) {
                    const auto listed = peak_in_flight(*schedule, rank);
                    // The searched schedules may stay below their limit.
                    if (kind == Schedule::Zb1p || kind == Schedule::Zb2p) {
                        EXPECT_GE(peaks[static_cast<std::size_t>(rank)], listed);
                    } else {
                        EXPECT_EQ(peaks[static_cast<std::size_t>(rank)], listed)
                            << schedule_names[k] << " p " << p << " m " << m << " rank " << rank;
                    }
                }
            }
    }
    EXPECT_THAT(peaks_in_flight(Schedule::GPipe, 1, 8, 1), testing::ElementsAre(1));
}

TEST(Simulate, OneStageHoldsOneMicroBatchAndNeverWaits) {
    const auto timeline = simulated(Schedule::OneFOneB, 1, 8, StageTimes::uniform(1, 1, 1, 1, 100));
    EXPECT_DOUBLE_EQ(timeline.makespan, 24);
    EXPECT_DOUBLE_EQ(timeline.bubble, 0);
}

TEST_P(BothSchedules, SlowestStageSetsThePace) {
    // Stage 1 is busy 8 x (4 + 6); stage 0's first forward comes before, its last backward after.
    const auto timeline = simulated(GetParam(), 2, 8, StageTimes{{1, 4}, {1, 3}, {1, 3}, {}});
    EXPECT_DOUBLE_EQ(timeline.makespan, 1 + 8 * (4 + 6) + 2);
    EXPECT_DOUBLE_EQ(timeline.idle[1], 3);
    EXPECT_DOUBLE_EQ(timeline.idle[0], 83 - 8 * 3);
    EXPECT_NEAR(timeline.bubble, (3.0 + 59.0) / (2 * 83), 1e-12);
}

TEST(Simulate, SendTimeIsPaidOnTheWayDownAndUp) {
    // One micro-batch through three stages: three forwards, three backwards, four sends.
    EXPECT_DOUBLE_EQ(simulated(Schedule::GPipe, 3, 1, StageTimes::uniform(3, 1, 1, 1, 0.5)).makespan, 9 + 4 * 0.5);
}

// Narayanan et al. 2021, Lamy-Poirier 2022: (p - 1) / (v m + p - 1) where the micro-batches come in whole rounds.
TEST(Simulate, ChunksDivideTheBubble) {
    for (const auto kind : {Schedule::Interleaved, Schedule::BreadthFirst})
        for (const int p : {2, 4, 8})
            for (const int rounds : {1, 2, 5})
                for (const int v : {2, 3, 4}) {
                    const int m = rounds * p;
                    const double share = 1.0 / v;
                    const auto timeline =
                        *simulate(*make_schedule(kind, {p, m, v}), StageTimes::uniform(p * v, share, share, share));
                    EXPECT_NEAR(timeline.bubble, (p - 1.0) / (v * m + p - 1), 1e-12)
                        << schedule_title(kind) << " p " << p << " m " << m << " v " << v;
                }
}

// Qi et al. 2024, zero bubble: (p - 1)(F + B - W) and (p - 1)(F + B - 2W) lost, nothing below zero.
TEST(Simulate, ZeroBubbleSchedulesLoseWhatThePaperSays) {
    for (const auto kind : {Schedule::ZbH1, Schedule::ZbH2})
        for (const int p : {2, 4, 8, 16})
            for (const Seconds weight : {0.5, 0.8, 1.0}) {
                const int m = 3 * p;
                const auto timeline = *simulate(*make_schedule(kind, {p, m}), StageTimes::uniform(p, 1, 1, weight));
                EXPECT_NEAR(timeline.bubble_per_rank, closed_form_bubble(kind, {p, m}, 1, 1, weight)->bubble, 1e-9)
                    << schedule_title(kind) << " p " << p << " W " << weight;
            }
}

// Qi et al. 2024, controllable memory: nothing lost with F = B = W but what filling the V takes.
TEST(Simulate, VSchedulesLoseAboutWhatThePaperSays) {
    for (const int p : {4, 8, 16}) {
        const int m = 8 * p;
        const auto lost = [&](Schedule kind) {
            return simulate(*make_schedule(kind, {p, m}), StageTimes::uniform(2 * p, 0.5, 0.5, 0.5))->bubble_per_rank;
        };
        const double one = closed_form_bubble(Schedule::OneFOneB, {p, m}, 1, 1, 1)->bubble;
        EXPECT_LT(lost(Schedule::ZbV), 0.2 * one) << "p " << p;
        EXPECT_LT(lost(Schedule::VHalf), 0.75 * one) << "p " << p;
        EXPECT_LT(lost(Schedule::VMin), 0.95 * one) << "p " << p;
    }
}

TEST(Simulate, RefusesTimesThatMakeNoSense) {
    const auto schedule = *make_schedule(Schedule::GPipe, {2, 1});
    const auto nan = std::numeric_limits<double>::quiet_NaN();
    const auto error = [&](const StageTimes& times) {
        const auto timeline = simulate(schedule, times);
        return timeline ? "" : timeline.error().message;
    };
    EXPECT_THAT(error(StageTimes::uniform(3, 1, 1, 1)), HasSubstr("2 stages need 2 times"));
    EXPECT_THAT(error(StageTimes::uniform(2, nan, 1, 1)), HasSubstr("must be finite and 0 or more"));
    EXPECT_THAT(error(StageTimes::uniform(2, 1, -1, 1)), HasSubstr("stage 0 takes 1 s forward, -1 s input backward"));
    EXPECT_THAT(error(StageTimes::uniform(2, 1, 1, 1, nan)), HasSubstr("the send between stages 0 and 1"));
    auto links = StageTimes::uniform(2, 1, 1, 1);
    links.send = {1, 2};
    EXPECT_THAT(error(links), HasSubstr("2 stages have 1 links"));
}

TEST(Simulate, NoTimeAtAllIsNoBubble) {
    EXPECT_EQ(simulated(Schedule::GPipe, 2, 2, StageTimes::uniform(2, 0, 0, 0)).bubble, 0);
}

}  // namespace
}  // namespace plimsoll
