// SPDX-License-Identifier: Apache-2.0
#include "core/run/measured_pipeline.h"
#include "core/base/json.h"

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/schedule/stage_times.h"
#include "core/telemetry/writer.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

/// What the engine writes (core/engine/train/reporter.cpp) of a timeline: each rank from its own first start.
Event event_of(const Pipeline& pipeline, int rank, std::uint64_t step, double start) {
    const auto& ops = pipeline.timeline.ranks[static_cast<std::size_t>(rank)];
    Json list = Json::array();
    for (const auto& op : ops)
        list.push_back(
            {short_name(op.op, pipeline.schedule.chunks > 1), op.start - ops[0].start, op.end - ops[0].start});
    return {step,
            start,
            EventKind::Pipeline,
            "",
            {{"pp_rank", rank}, {"origin", start + ops[0].start}, {"ops", std::move(list)}}};
}

class MeasuredPipelineTest : public RunTest {
protected:
    /// dp 2 x pp 4: stage p is recorded by rank 2 p.
    Plan plan_of(Schedule schedule) {
        Plan made = *with_settings(plan, {"layout.pp=4", "layout.dp=2", "layout.accumulation=8", "model.num_layers=8",
                                          "cluster.gpus_per_node=8"});
        made.layout.schedule = schedule;
        return made;
    }

    void record(const RunFolder& run, const Pipeline& pipeline, std::uint64_t step, int stages = 4) {
        for (int rank = 0; rank < stages; ++rank) {
            auto writer = TelemetryWriter::open(run.telemetry_path(2 * rank));
            ASSERT_TRUE(writer->event(event_of(pipeline, rank, step, 1.7e9 + static_cast<double>(step))));
        }
    }
};

TEST_F(MeasuredPipelineTest, TimesComeBackAsTheyWereRecorded) {
    for (const Schedule kind : {Schedule::OneFOneB, Schedule::ZbH1, Schedule::ZbV, Schedule::Interleaved}) {
        const Plan staged = plan_of(kind);
        const auto pipeline = simulate_pipeline(
            staged, StageTimes::uniform(static_cast<int>(4 * chunks_per_rank(staged)), 0.25, 0.5, 0.125, 0.0625));
        ASSERT_TRUE(pipeline) << pipeline.error().message;
        const RunFolder run = make_run(std::string(name_of(kind)));
        PipelineRecords records(run, staged);
        EXPECT_FALSE(*records.poll());
        EXPECT_FALSE(records.last_step());
        record(run, *pipeline, 1);
        record(run, *pipeline, 10);
        record(run, *pipeline, 20, 3);  // the last stage is not there yet
        ASSERT_TRUE(*records.poll());
        ASSERT_EQ(records.last_step(), 10U);
        const auto timeline = records.timeline(pipeline->schedule, 10);
        ASSERT_TRUE(timeline) << timeline.error().message;
        EXPECT_NEAR(timeline->makespan, pipeline->timeline.makespan, 1e-5);
        EXPECT_NEAR(timeline->bubble, pipeline->timeline.bubble, 1e-5);
        for (std::size_t rank = 0; rank < 4; ++rank)
            for (std::size_t i = 0; i < timeline->ranks[rank].size(); ++i) {
                EXPECT_EQ(timeline->ranks[rank][i].op, pipeline->timeline.ranks[rank][i].op);
                EXPECT_NEAR(timeline->ranks[rank][i].start, pipeline->timeline.ranks[rank][i].start, 1e-5);
            }
        const StageTimes mean = mean_times(pipeline->schedule, *timeline);
        for (int stage = 0; stage < pipeline->schedule.stages(); ++stage) {
            const auto at = static_cast<std::size_t>(stage);
            EXPECT_NEAR(mean.forward[at], 0.25, 1e-5);
            EXPECT_NEAR(mean.backward_input[at] + mean.backward_weight[at], 0.625, 1e-5);
        }
    }
}

TEST_F(MeasuredPipelineTest, WaitingForTheInputIsNoWork) {
    const Plan staged = plan_of(Schedule::OneFOneB);
    auto noted = simulate_pipeline(staged, StageTimes::uniform(4, 0.25, 0.5, 0.125));
    ASSERT_TRUE(noted);
    const Timeline ran = noted->timeline;
    // The engine notes an operation from when its turn comes: right behind the one before it.
    for (auto& ops : noted->timeline.ranks)
        for (std::size_t i = 0; i < ops.size(); ++i) ops[i].start = i > 0 ? ops[i - 1].end : 0;
    const RunFolder run = make_run("waits");
    record(run, *noted, 1);
    PipelineRecords records(run, staged);
    ASSERT_TRUE(*records.poll());
    const auto timeline = records.timeline(noted->schedule, 1);
    ASSERT_TRUE(timeline) << timeline.error().message;
    EXPECT_GT(ran.bubble, 0.2);
    EXPECT_NEAR(timeline->bubble, ran.bubble, 1e-5);
    for (std::size_t rank = 0; rank < 4; ++rank)
        for (std::size_t i = 0; i < timeline->ranks[rank].size(); ++i)
            EXPECT_NEAR(timeline->ranks[rank][i].start, ran.ranks[rank][i].start, 1e-5);
}

TEST_F(MeasuredPipelineTest, OtherOperationsAreNotDrawnAsTheSchedules) {
    const Plan staged = plan_of(Schedule::OneFOneB);
    const auto pipeline = simulate_pipeline(staged), other = simulate_pipeline(plan_of(Schedule::GPipe));
    ASSERT_TRUE(pipeline && other);
    const RunFolder run = make_run("other");
    record(run, *other, 1);
    PipelineRecords records(run, staged);
    ASSERT_TRUE(*records.poll());
    const auto timeline = records.timeline(pipeline->schedule, 1);
    ASSERT_FALSE(timeline);
    EXPECT_NE(timeline.error().message.find("rank 0 of the pipeline"), std::string::npos) << timeline.error().message;
    EXPECT_FALSE(records.timeline(pipeline->schedule, 2));
}

TEST_F(MeasuredPipelineTest, TimesThatGoBackAreRefused) {
    const Plan staged = plan_of(Schedule::OneFOneB);
    auto pipeline = simulate_pipeline(staged);
    ASSERT_TRUE(pipeline);
    const auto schedule = pipeline->schedule;
    pipeline->timeline.ranks[1][3].start -= 100;
    const RunFolder run = make_run("back");
    record(run, *pipeline, 1);
    PipelineRecords records(run, staged);
    ASSERT_TRUE(*records.poll());
    const auto timeline = records.timeline(schedule, 1);
    ASSERT_FALSE(timeline);
    EXPECT_NE(timeline.error().message.find("go back"), std::string::npos);
}

TEST_F(MeasuredPipelineTest, ARunWithoutAPipelineHasNone) {
    const RunFolder run = make_run();
    PipelineRecords records(run, plan);
    EXPECT_FALSE(*records.poll());
    EXPECT_FALSE(records.last_step());
}

}  // namespace
}  // namespace plimsoll
