// SPDX-License-Identifier: Apache-2.0
#include "core/run/stop_wait.h"

#include <gtest/gtest.h>

#include "core/telemetry/contract/event_contents.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

/// Steps 1 to 3 of 20 s each, the last recorded at 1060, and a checkpoint of 341 MiB.
SeriesStore three_steps() {
    TelemetryBatch batch;
    for (std::uint64_t step = 1; step <= 3; ++step) {
        batch.points[series::step_time].push_back({step, 1000 + 20.0 * static_cast<double>(step), 20});
    }
    batch.events.push_back(
        {3, 1060, EventKind::Checkpoint, "Checkpoint", CheckpointEvent{"step-00000003", 341 * MiB, 2}.to_json()});
    SeriesStore store;
    store.apply(batch);
    return store;
}

TEST(StopWait, TellsWhatIsLeftOfTheStep) {
    const StopWait wait = stop_wait(three_steps(), std::nullopt, 1000, 1066);
    EXPECT_EQ(wait.step, 4);
    EXPECT_DOUBLE_EQ(wait.elapsed, 6);
    EXPECT_DOUBLE_EQ(*wait.left(), 14);
    EXPECT_FALSE(wait.save);
}

TEST(StopWait, AStepThatTakesLongerHasNothingLeftAndTheFirstOneIsNotKnown) {
    EXPECT_DOUBLE_EQ(*stop_wait(three_steps(), std::nullopt, 1000, 1100).left(), 0);
    const StopWait first = stop_wait(SeriesStore(), std::nullopt, 1000, 1008);
    EXPECT_EQ(first.step, 1);
    EXPECT_DOUBLE_EQ(first.elapsed, 8);
    EXPECT_FALSE(first.left());
    // A resumed run: the time since its last record was not spent on the step.
    EXPECT_DOUBLE_EQ(stop_wait(three_steps(), std::nullopt, 5000, 5005).elapsed, 5);
}

TEST(StopWait, TellsHowMuchOfTheCheckpointIsWritten) {
    const TempFolder folder;
    const RunLayout run(folder.path());
    EXPECT_FALSE(save_under_way(run, 0)) << "no folder yet";
    std::filesystem::create_directories(run.checkpoints() / "step-00000003");
    std::filesystem::create_directories(run.checkpoints() / ".step-00000002.old");
    EXPECT_FALSE(save_under_way(run, 0));
    std::filesystem::create_directories(run.checkpoints() / ".step-00000004.new");
    put_contents(run.checkpoints() / ".step-00000004.new" / "model.safetensors", std::string(1000, 'x'));
    put_contents(run.checkpoints() / ".step-00000004.new" / "optimizer.safetensors.12.tmp", std::string(24, 'x'));
    const auto save = save_under_way(run, 0);
    ASSERT_TRUE(save);
    EXPECT_EQ(save->step, 4);
    EXPECT_EQ(save->written, 1024);
    EXPECT_FALSE(save_under_way(run, 4e9)) << "left behind by a crash before";

    const StopWait wait = stop_wait(three_steps(), save, 1000, 1070);
    EXPECT_EQ(wait.step, 4);
    EXPECT_EQ(wait.save->written, 1024);
    EXPECT_EQ(*wait.save_takes, 341 * MiB);
}

}  // namespace
}  // namespace plimsoll
