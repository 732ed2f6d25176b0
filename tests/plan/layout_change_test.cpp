// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layout_change.h"

#include <gmock/gmock.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

Plan plan_of(std::int64_t dp, std::int64_t micro_batch, std::int64_t accumulation) {
    Plan plan;
    plan.layout.dp = dp;
    plan.layout.micro_batch = micro_batch;
    plan.layout.accumulation = accumulation;
    return plan;
}

TEST(WithRanks, GlobalBatchStaysTheSame) {
    for (const std::int64_t ranks : {1, 2, 4, 8, 16}) {
        const auto plan = with_ranks(plan_of(2, 8, 1), ranks);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->layout.global_batch(), 16) << ranks;
        EXPECT_EQ(plan->layout.dp, ranks);
        EXPECT_EQ(plan->cluster.world_size(), ranks);
    }
    EXPECT_EQ(with_ranks(plan_of(2, 8, 1), 1)->layout.micro_batch, 8);
    EXPECT_EQ(with_ranks(plan_of(2, 8, 1), 1)->layout.accumulation, 2);
    EXPECT_EQ(with_ranks(plan_of(2, 8, 1), 8)->layout.micro_batch, 2);
}

TEST(WithRanks, BatchThatDoesNotDivideIsASentence) {
    const auto plan = with_ranks(plan_of(2, 8, 1), 3);
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("16 sequences does not divide among 3 ranks"));
    EXPECT_FALSE(with_ranks(plan_of(2, 8, 1), 0));
    EXPECT_FALSE(with_ranks(plan_of(2, 8, 1), -2));
}

TEST(WithGpus, DataParallelismTakesWhatTheModelLeaves) {
    Plan plan = plan_of(4, 1, 16);
    plan.layout.tp = 2;
    plan.layout.pp = 2;
    plan.cluster.gpus_per_node = 8;
    plan.cluster.nodes = 2;
    std::vector<std::string> notes;
    const auto more = with_gpus(plan, 32, notes);
    ASSERT_TRUE(more);
    EXPECT_EQ(more->layout.dp, 8);
    EXPECT_EQ(more->layout.tp, 2);
    EXPECT_EQ(more->layout.global_batch(), 64);
    EXPECT_EQ(more->cluster.gpus_per_node, 8);
    EXPECT_EQ(more->cluster.nodes, 4);
    EXPECT_THAT(notes, ::testing::IsEmpty());
    EXPECT_THAT(with_gpus(plan, 6, notes).error().message, HasSubstr("a multiple of 4"));
}

TEST(WithGpus, MachinesAreFilledEvenly) {
    for (const auto& [gpus, per_node, nodes] :
         {std::tuple{1, 1, 1}, {6, 6, 1}, {8, 8, 1}, {12, 6, 2}, {16, 8, 2}, {64, 8, 8}}) {
        std::vector<std::string> notes;
        const auto plan = with_gpus(plan_of(2, 8, 24), gpus, notes);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->cluster.gpus_per_node, per_node) << gpus;
        EXPECT_EQ(plan->cluster.nodes, nodes) << gpus;
        EXPECT_EQ(plan->layout.world_size(), gpus);
    }
}

}  // namespace
}  // namespace plimsoll
