// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/pipeline_time.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll {
namespace {

struct Case {
    Schedule kind;
    int ranks, micro_batches, chunks;
    double input, weight, send, last;  ///< in forwards; `last` is what the last stage has more
};

/// makespan of the closed form / of the simulator - 1
double off(const Case& c) {
    const int chunks = static_cast<int>(chunks_of(c.kind, c.chunks));
    auto times = StageTimes::uniform(c.ranks * chunks, 1.0 / chunks, c.input / chunks, c.weight / chunks, c.send);
    times.forward.back() += c.last;
    times.backward_input.back() += c.last;
    times.backward_weight.back() += c.last;
    const auto pipeline = simulate_pipeline(c.kind, {c.ranks, c.micro_batches, chunks}, times);
    EXPECT_TRUE(pipeline) << pipeline.error().message;
    if (!pipeline) return 1;
    const RankWork plain{1, 1, c.input, c.weight}, more{1, 1 + c.last, c.input + c.last, c.weight + c.last};
    const bool first_is_last = placement_of(c.kind) == Placement::V;
    std::vector<RankWork> work(static_cast<std::size_t>(c.ranks), plain);
    (first_is_last ? work.front() : work.back()) = more;
    const auto time = pipeline_time(c.kind, work, c.micro_batches, chunks, c.send);
    return time.makespan / pipeline->timeline.makespan - 1;
}

std::vector<Case> cases(std::initializer_list<Schedule> kinds, double send, double last) {
    std::vector<Case> all;
    for (const auto kind : kinds)
        for (const int ranks : {2, 4, 8, 16})
            for (const int times : {2, 4, 8})
                for (const auto& [input, weight] : {std::pair{1.0, 1.0}, {1.2, 0.9}, {2.1, 0.8}})
                    all.push_back({kind, ranks, times * ranks, 3, input, weight, send, last});
    return all;
}

std::string words(const Case& c) {
    return fmt::format("{} p {} m {} B {} W {} send {} last {}", name_of(c.kind), c.ranks, c.micro_batches, c.input,
                       c.weight, c.send, c.last);
}

TEST(PipelineTime, IsExactForEqualStagesOfFlushSchedules) {
    for (const auto& c : cases({Schedule::GPipe, Schedule::OneFOneB, Schedule::BreadthFirst}, 0, 0))
        EXPECT_NEAR(off(c), 0, 1e-9) << words(c);
}

TEST(PipelineTime, IsCloseForTheOthers) {
    for (const auto& c : cases({Schedule::Interleaved, Schedule::ZbH1, Schedule::ZbH2, Schedule::ZbV}, 0, 0))
        EXPECT_NEAR(off(c), 0, 0.02) << words(c);
    for (const auto& c : cases({Schedule::VHalf, Schedule::VMin, Schedule::DualPipeV}, 0, 0))
        EXPECT_NEAR(off(c), 0, 0.11) << words(c);
}

TEST(PipelineTime, CountsSendsAndASlowerLastStage) {
    for (const auto& c : cases({Schedule::OneFOneB, Schedule::GPipe}, 0.05, 0))
        EXPECT_NEAR(off(c), 0, 0.02) << words(c);
    for (const auto& c : cases({Schedule::OneFOneB, Schedule::GPipe}, 0, 0.3)) EXPECT_NEAR(off(c), 0, 0.02) << words(c);
    for (const auto& c : cases({Schedule::Interleaved, Schedule::ZbH1}, 0.02, 0.3))
        EXPECT_NEAR(off(c), 0, 0.08) << words(c);
}

TEST(PipelineTime, OneRankAccumulates) {
    const auto time = pipeline_time(Schedule::OneFOneB, {{1, 1, 1, 1}}, 7, 1, 5);
    EXPECT_EQ(time.makespan, 21);
    EXPECT_EQ(time.sends, 0);
}

}  // namespace
}  // namespace plimsoll
