// SPDX-License-Identifier: Apache-2.0
// What is read off a timeline: causes, memory, transfers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/memory_curve.h"
#include "core/schedule/plan_pipeline/op_cause.h"
#include "core/schedule/transfers.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

struct Laid {
    PipelineSchedule schedule;
    Timeline timeline;
};

Laid laid(Schedule kind, ScheduleShape shape, Seconds send = 0) {
    auto schedule = *make_schedule(kind, shape);
    auto timeline = *simulate(schedule, StageTimes::uniform(schedule.stages(), 1, 1, 1, send));
    return {std::move(schedule), std::move(timeline)};
}

TEST(Causes, NameWhatAnOpWaitedFor) {
    const auto [schedule, timeline] = laid(Schedule::OneFOneB, {2, 2}, 0.5);
    const Causes causes(schedule, timeline);
    // Rank 0: F0 F1 B0 B1. Rank 1: F0 (at 1.5) B0 F1 B1. B0 of rank 0 starts at 4.5 + 0.5.
    EXPECT_EQ(causes.cause({0, 0}).kind, Cause::Kind::Nothing);
    EXPECT_EQ(causes.cause({0, 1}).kind, Cause::Kind::Rank);
    const auto first = causes.cause({1, 0});
    EXPECT_EQ(first.kind, Cause::Kind::Input);
    EXPECT_EQ(first.op, (OpPlace{0, 0}));
    EXPECT_DOUBLE_EQ(first.waited, 1.5);
    EXPECT_DOUBLE_EQ(first.send, 0.5);
    const auto gradient = causes.cause({0, 2});
    EXPECT_EQ(gradient.kind, Cause::Kind::Gradient);
    EXPECT_EQ(gradient.op, (OpPlace{1, 1}));
    EXPECT_DOUBLE_EQ(gradient.waited, 3);
    EXPECT_THAT(causes.chain({0, 2}), ElementsAre(OpPlace{0, 2}, OpPlace{1, 1}, OpPlace{1, 0}, OpPlace{0, 0}));
}

// The chain of causes spends no time idle: its ops and sends add up to the end of the step.
TEST(Causes, TheChainOfTheLastOpIsTheCriticalPath) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto [schedule, timeline] = laid(static_cast<Schedule>(k), {4, 9, 2}, 0.25);
        const Causes causes(schedule, timeline);
        OpPlace last;
        for (int rank = 0; rank < schedule.ranks; ++rank) {
            const auto& ops = timeline.ranks[static_cast<std::size_t>(rank)];
            if (ops.back().end == timeline.makespan) last = {rank, ops.size() - 1};
        }
        Seconds total = 0;
        for (const auto& place : causes.chain(last)) {
            const auto& timed = timeline.ranks[static_cast<std::size_t>(place.rank)][place.index];
            total += timed.end - timed.start + causes.cause(place).send;
        }
        EXPECT_NEAR(total, timeline.makespan, 1e-9) << schedule_names[k];
    }
}

TEST(MemoryCurve, PeaksAreTheTextbookCounts) {
    const auto [schedule, timeline] = laid(Schedule::OneFOneB, {4, 8});
    EXPECT_THAT(memory_curve(schedule, timeline).peak, ElementsAre(4, 3, 2, 1));
    const auto gpipe = laid(Schedule::GPipe, {4, 8});
    EXPECT_THAT(memory_curve(gpipe.schedule, gpipe.timeline).peak, ElementsAre(8, 8, 8, 8));
    // Narayanan 2021: p + (p - 1) / v micro-batches on rank 0.
    const auto interleaved = laid(Schedule::Interleaved, {4, 16, 2});
    EXPECT_DOUBLE_EQ(memory_curve(interleaved.schedule, interleaved.timeline).peak[0], 4 + 3.0 / 2);
    const auto zb_v = laid(Schedule::ZbV, {4, 16});
    EXPECT_THAT(memory_curve(zb_v.schedule, zb_v.timeline).peak, ElementsAre(4, 4, 4, 4));
}

TEST(MemoryCurve, FollowsTheOpsAndEndsEmpty) {
    const auto [schedule, timeline] = laid(Schedule::ZbH1, {2, 2});
    // Rank 1: F0 at 1, B0 at 2, F1 at 3, B1 at 4, W0 at 5, W1 at 6; a quarter of the activations waits for W.
    const auto curve = memory_curve(schedule, timeline, 0.25);
    std::vector<std::pair<double, double>> points;
    for (const auto& point : curve.ranks[1]) points.emplace_back(point.time, point.micro_batches);
    EXPECT_EQ(points.front(), std::pair(0.0, 0.0));
    EXPECT_THAT(points, testing::Contains(std::pair(1.0, 1.0)));
    // B0 ends at 3, when F1 starts: 1 - 0.75 + 1.
    EXPECT_THAT(points, testing::Contains(std::pair(3.0, 1.25)));
    EXPECT_DOUBLE_EQ(points.back().second, 0);
    EXPECT_DOUBLE_EQ(curve.peak[1], 1.25);
}

TEST(Transfers, SitAroundTheirOps) {
    const auto schedule = *make_schedule(Schedule::OneFOneB, {3, 1});
    const auto middle = steps_of(schedule, 1);
    ASSERT_EQ(middle.size(), 2u);
    EXPECT_THAT(middle[0].receives, ElementsAre(Transfer{0, 0, 0, false}));
    EXPECT_THAT(middle[0].sends, ElementsAre(Transfer{2, 1, 0, false}));
    EXPECT_THAT(middle[1].receives, ElementsAre(Transfer{2, 2, 0, true}));
    EXPECT_THAT(middle[1].sends, ElementsAre(Transfer{0, 1, 0, true}));
    EXPECT_TRUE(steps_of(schedule, 0)[0].receives.empty());
    EXPECT_TRUE(steps_of(schedule, 0)[1].sends.empty());
    EXPECT_TRUE(steps_of(schedule, 2)[0].sends.empty());
}

TEST(Transfers, TheFoldOfAVNeedsNone) {
    const auto schedule = *make_schedule(Schedule::ZbV, {2, 3});
    for (const auto& step : steps_of(schedule, 1))
        if (step.op.kind == OpKind::Forward && step.op.chunk == 1) {
            EXPECT_TRUE(step.receives.empty());
        }
}

// Every tensor that is sent is received by its peer, once.
TEST(Transfers, EverySendHasItsReceive) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto schedule = *make_schedule(static_cast<Schedule>(k), {4, 8, 3});
        std::vector<std::tuple<int, int, int, int, bool>> sent, received;
        for (int rank = 0; rank < 4; ++rank)
            for (const auto& step : steps_of(schedule, rank)) {
                for (const auto& t : step.sends) sent.emplace_back(rank, t.peer, t.stage, t.micro_batch, t.gradient);
                for (const auto& t : step.receives)
                    received.emplace_back(t.peer, rank, t.stage, t.micro_batch, t.gradient);
            }
        EXPECT_FALSE(sent.empty());
        EXPECT_THAT(sent, testing::UnorderedElementsAreArray(received)) << schedule_names[k];
    }
}

// An engine that posted a receive only when it needs it would take the tensors of a V in another order than they come.
TEST(Transfers, ReceivesArePostedInTheOrderOfTheSends) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto ranks = steps_of(*make_schedule(static_cast<Schedule>(k), {4, 8, 3}));
        std::map<std::pair<int, int>, std::vector<std::tuple<int, int, bool>>> sent, posted;
        for (int rank = 0; rank < 4; ++rank)
            for (const auto& step : ranks[static_cast<std::size_t>(rank)]) {
                for (const auto& t : step.sends) sent[{rank, t.peer}].emplace_back(t.stage, t.micro_batch, t.gradient);
                for (const auto& t : step.posts)
                    posted[{t.peer, rank}].emplace_back(t.stage, t.micro_batch, t.gradient);
            }
        EXPECT_EQ(sent, posted) << schedule_names[k];
    }
}

// No send is let go before its receiver has used it, and few are held: memory does not grow with the micro-batches.
TEST(Transfers, SendsEndOnceAndBehindTheirReceipt) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto schedule = *make_schedule(static_cast<Schedule>(k), {4, 16, 3});
        for (int rank = 0; rank < 4; ++rank) {
            std::vector<Transfer> open;
            for (const auto& step : steps_of(schedule, rank)) {
                for (const auto& t : step.ended) {
                    const auto found = std::find(open.begin(), open.end(), t);
                    ASSERT_NE(found, open.end()) << schedule_names[k];
                    open.erase(found);
                    EXPECT_EQ(t.peer, step.receives.at(0).peer);
                }
                open.insert(open.end(), step.sends.begin(), step.sends.end());
            }
        }
    }
    std::size_t open = 0, most = 0;
    for (const auto& step : steps_of(*make_schedule(Schedule::OneFOneB, {4, 64}), 0)) {
        open = open + step.sends.size() - step.ended.size();
        most = std::max(most, open);
    }
    EXPECT_EQ(most, 4u);
}

}  // namespace
}  // namespace plimsoll
