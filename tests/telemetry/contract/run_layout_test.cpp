// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/run_layout.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(RunLayout, FilesLieWhereEarlierVersionsPutThem) {
    const RunLayout run("/runs/a");
    EXPECT_EQ(run.plan(), "/runs/a/plan.json");
    EXPECT_EQ(run.state(), "/runs/a/run.json");
    EXPECT_EQ(run.lock(), "/runs/a/lock");
    EXPECT_EQ(run.control(), "/runs/a/control");
    EXPECT_EQ(run.peak(), "/runs/a/memory.json");
    EXPECT_EQ(run.record(0), "/runs/a/telemetry/rank-0.rec");
    EXPECT_EQ(run.record(supervisor_rank), "/runs/a/telemetry/supervisor.rec");
    EXPECT_EQ(run.log(12), "/runs/a/logs/rank-12.log");
    EXPECT_EQ(run.log(supervisor_rank), "/runs/a/logs/supervisor.log");
    EXPECT_EQ(run.store_log(), "/runs/a/logs/store.log");
    EXPECT_EQ(run.checkpoint(100), "/runs/a/checkpoints/step-00000100");
    EXPECT_EQ(run.left_checkpoint(100), "/runs/a/checkpoints/left-step-00000100");
}

TEST(RunLayout, RanksOfRecords) {
    const RunLayout run("/runs/a");
    for (const int rank : {supervisor_rank, 0, 7, 4096, max_ranks - 1}) EXPECT_EQ(rank_of(run.record(rank)), rank);
    for (const char* name : {"rank-100000.rec", "rank-99999999999999.rec", "rank--1.rec", "rank-.rec", "rank-1x.rec",
                             "rank-01.rec", "rank-1", "rank-1.log", "supervisor", "notes.txt", ".rec", ""}) {
        EXPECT_FALSE(rank_of(name)) << name;
    }
}

TEST(RunLayout, StepsOfCheckpoints) {
    EXPECT_EQ(checkpoint_name(7), "step-00000007");
    for (const std::int64_t step : {0L, 7L, 99'999'999L, 123'456'789L}) EXPECT_EQ(step_of(checkpoint_name(step)), step);
    for (const char* name :
         {"step-7", "step-0000000x", "step--0000007", "left-step-00000007", ".step-00000007.new", ""})
        EXPECT_FALSE(step_of(name)) << name;
    EXPECT_EQ(hidden_checkpoint_name(7, "new"), ".step-00000007.new");
    EXPECT_TRUE(is_hidden_checkpoint(hidden_checkpoint_name(7, "old")));
    for (const char* name : {"step-00000007", "left-step-00000007", ".", ""}) EXPECT_FALSE(is_hidden_checkpoint(name));
}

}  // namespace
}  // namespace plimsoll
