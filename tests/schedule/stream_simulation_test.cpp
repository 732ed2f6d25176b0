// SPDX-License-Identifier: Apache-2.0
// The messages of every schedule over channels as NCCL has them.
#include "core/schedule/stream_simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/generators/make_schedule.h"

namespace plimsoll {
namespace {

using Steps = std::vector<std::vector<PipelineStep>>;

/// Every schedule with the shapes that it takes.
template <class Visit>
void for_schedules(const std::vector<int>& ranks, Visit&& visit) {
    for (std::size_t k = 0; k < schedule_names.size(); ++k) {
        const auto kind = static_cast<Schedule>(k);
        for (const int p : ranks)
            for (const int m : {1, 2, 4, 8, 16, 21})
                for (const int v : {1, 2, 3}) {
                    if (v > 1 && !takes_chunks(kind)) continue;
                    const auto schedule = make_schedule(kind, {p, m, v});
                    if (schedule) visit(*schedule, fmt::format("{} p {} m {} v {}", schedule_names[k], p, m, v));
                }
    }
}

/// The steps of an engine that starts a receive when it needs it, whatever its peer sends first.
Steps posted_when_needed(const PipelineSchedule& schedule) {
    Steps ranks = steps_of(schedule);
    for (auto& steps : ranks) {
        for (auto& step : steps) step.posts.clear();
        for (std::size_t i = 0; i < steps.size(); ++i) {
            auto& before = steps[i == 0 ? 0 : i - 1].posts;
            before.insert(before.end(), steps[i].receives.begin(), steps[i].receives.end());
        }
    }
    return ranks;
}

TEST(StreamSimulation, EverySchedulesMessagesArriveWithAStreamADirection) {
    int schedules = 0;
    for_schedules({2, 4, 8}, [&](const PipelineSchedule& schedule, const std::string& name) {
        const auto outcome = simulate_streams(steps_of(schedule), StreamRule::Direction);
        EXPECT_EQ(outcome.stuck, 0u) << name;
        EXPECT_EQ(outcome.mixed_up, 0u) << name;
        EXPECT_TRUE(check_messages(schedule)) << name;
        ++schedules;
    });
    EXPECT_GT(schedules, 200);
}

// Both directions in one stream, as an unbatched send of ProcessGroupNCCL has them.
TEST(StreamSimulation, OneStreamAPairHangs) {
    for (const auto kind : {Schedule::GPipe, Schedule::OneFOneB, Schedule::ZbH1, Schedule::VHalf}) {
        for (const int p : {2, 4}) {
            const auto schedule = *make_schedule(kind, {p, 8});
            EXPECT_GT(simulate_streams(steps_of(schedule), StreamRule::Pair).stuck, 0u) << schedule_title(kind);
            EXPECT_GT(simulate_streams(posted_when_needed(schedule), StreamRule::Pair).stuck, 0u)
                << schedule_title(kind);
        }
    }
}

// All messages of a rank in one stream, as in one group that is connected eagerly.
TEST(StreamSimulation, OneStreamARankHangs) {
    for (const auto kind : {Schedule::GPipe, Schedule::OneFOneB, Schedule::Interleaved, Schedule::ZbV})
        EXPECT_GT(simulate_streams(steps_of(*make_schedule(kind, {4, 8, 2})), StreamRule::Rank).stuck, 0u)
            << schedule_title(kind);
}

// All boundary tensors have one size, so nothing but their order tells them apart.
TEST(StreamSimulation, ReceivesInTheOrderOfNeedTakeActivationsForGradients) {
    EXPECT_GT(
        simulate_streams(posted_when_needed(*make_schedule(Schedule::ZbV, {2, 8})), StreamRule::Direction).mixed_up,
        0u);
    EXPECT_GT(
        simulate_streams(posted_when_needed(*make_schedule(Schedule::ZbV, {4, 8})), StreamRule::Direction).mixed_up,
        0u);
    EXPECT_GT(simulate_streams(posted_when_needed(*make_schedule(Schedule::DualPipeV, {4, 8})), StreamRule::Direction)
                  .mixed_up,
              0u);
    EXPECT_EQ(simulate_streams(posted_when_needed(*make_schedule(Schedule::OneFOneB, {4, 8})), StreamRule::Direction)
                  .mixed_up,
              0u);
}

TEST(StreamSimulation, CountsWhatNeverArrives) {
    // Rank 1 never posts the receive of the second tensor.
    Steps ranks = steps_of(*make_schedule(Schedule::GPipe, {2, 2}));
    std::erase_if(ranks[1][1].posts, [](const Transfer& t) { return t.micro_batch == 1; });
    std::erase_if(ranks[1][0].posts, [](const Transfer& t) { return t.micro_batch == 1; });
    const auto outcome = simulate_streams(ranks, StreamRule::Direction);
    // The send, and the two gradients behind the wait for it, on both sides.
    EXPECT_EQ(outcome.stuck, 5u);
    EXPECT_FALSE(outcome.arrives());
}

}  // namespace
}  // namespace plimsoll
