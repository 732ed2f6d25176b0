// SPDX-License-Identifier: Apache-2.0
// Public bug reports of other engines about batches and micro-batches: the right behaviour, here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/schedule_kind.h"
#include "tests/conformance/layout_run.h"

namespace plimsoll::engine {
namespace {

// DeepSpeed #3228, #3982: the batch was checked against all ranks, or against one, in place of the data-parallel ones.
TEST(Reports, OnlyDataParallelRanksMultiplyTheBatch) {
    const Plan spread = conformance_plan("llama-7b", "dp=2 tp=2 pp=2 micro_batch=2");
    EXPECT_EQ(spread.layout.world_size(), 8);
    EXPECT_EQ(spread.layout.global_batch(), 8);
    EXPECT_EQ(spread.layout.accumulation, 2);
    // The same 8 sequences a step: had ranks of tensor or pipeline parallelism counted, loss and gradients would be
    // means over other samples.
    expect_same_training(run_layout(spread, 3), run_layout(on_one_rank(spread), 3), "dp 2 tp 2 pp 2");

    Plan wrong = spread;
    wrong.cluster.gpus_per_node = 4;
    wrong.cluster.nodes = 1;
    const auto possible = require_possible(wrong);
    ASSERT_FALSE(possible);
    EXPECT_THAT(possible.error().message,
                ::testing::HasSubstr("dp 2 x tp 2 x pp 2 x cp 1 = 8 ranks, but the cluster has 4 x 1 = 4 GPUs"));
}

// DeepSpeed #17: what was left of a division was lost without a word. Here nothing is divided: the global batch is the
// product, whatever its factors.
TEST(Reports, TheGlobalBatchIsAProductAndNeverAQuotient) {
    for (const std::int64_t micro_batch : {1, 2, 3}) {
        for (const std::int64_t accumulation : {1, 3, 5}) {
            Plan plan = conformance_plan("llama-7b", "dp=2");
            plan.layout.micro_batch = micro_batch;
            plan.layout.accumulation = accumulation;
            EXPECT_EQ(plan.layout.global_batch(), 2 * micro_batch * accumulation);
            Plan one = on_one_rank(plan);
            EXPECT_EQ(one.layout.global_batch(), plan.layout.global_batch());
            expect_same_training(run_layout(plan, 2), run_layout(one, 2),
                                 fmt::format("{} x {}", micro_batch, accumulation));
        }
    }
}

// pytorch #126600: a batch that does not come out even over the micro-batches gave receives of the wrong shape. Here
// every micro-batch is of layout.micro_batch sequences, and any number of them goes through any schedule.
TEST(Reports, AnyNumberOfMicroBatchesGoesThroughThePipeline) {
    for (const auto schedule : schedule_names) {
        for (const std::int64_t micro_batches : {3, 5, 7}) {
            Plan plan = conformance_plan("llama-7b", fmt::format("pp=2 schedule={}", schedule));
            if (plan.layout.schedule == Schedule::DualPipeV && micro_batches < 2 * plan.layout.pp) continue;
            plan.layout.accumulation = micro_batches;
            const std::string what = fmt::format("{} with {} micro-batches", schedule, micro_batches);
            expect_same_training(run_layout(plan, 2), run_layout(on_one_rank(plan), 2), what);
        }
    }
}

}  // namespace
}  // namespace plimsoll::engine
