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

TEST(WithGpus, TheGlobalBatchStaysOrTheNearestAreNamed) {
    std::vector<std::string> notes;
    // LLaMA-7B's starting plan: 4 x 1 x 64.
    for (const std::int64_t gpus : {1, 2, 8, 16, 32, 64, 128, 256})
        EXPECT_EQ(with_gpus(plan_of(4, 1, 64), gpus, notes)->layout.global_batch(), 256) << gpus;
    const auto twelve = with_gpus(plan_of(4, 1, 64), 12, notes);
    ASSERT_FALSE(twelve);
    EXPECT_THAT(
        twelve.error().message,
        HasSubstr("the global batch of 256 sequences does not divide among 12 data-parallel ranks: take 8 or 16 "
                  "GPUs, or a global batch of 252 or 264 (layout.micro_batch=1 layout.accumulation=21 or 22)"));
    EXPECT_THAT(with_gpus(plan_of(4, 1, 64), 3, notes).error().message, HasSubstr("take 2 or 4 GPUs"));
    EXPECT_THAT(with_gpus(plan_of(4, 1, 64), 4096, notes).error().message,
                HasSubstr("take 256 GPUs, or a global batch of 4,096 (layout.micro_batch=1 layout.accumulation=1)"));
    const auto follows = with_gpus(plan_of(4, 1, 64), 12, notes, GlobalBatch::Follows);
    ASSERT_TRUE(follows);
    EXPECT_EQ(follows->layout.dp, 12);
    EXPECT_EQ(follows->layout.accumulation, 64) << "it is set afterwards";
    EXPECT_TRUE(sets_global_batch("layout.accumulation"));
    EXPECT_FALSE(sets_global_batch("layout.tp"));
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
