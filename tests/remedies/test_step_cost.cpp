// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/plan/gpu.h"
#include "core/remedies/step_cost.h"
#include "tests/estimate/plans.h"

namespace plimsoll {
namespace {

StepCost cost(const std::vector<std::string>& settings) {
    const auto plan = gpu_plan("llama-7b", settings);
    return step_cost(plan, estimated(plan));
}

TEST(StepCost, MatmulsAreSixFlopsAParameterAndToken) {
    const auto c = cost({"layout.micro_batch=1"});
    // Without the embedding table, which no token is multiplied with: 6,738,415,616 - 32000 x 4096, at half of 312
    // TFLOP/s; attention adds 3 x 2 s h L FLOPs a token.
    const double matrices = 6'738'415'616.0 - 32000.0 * 4096, tokens = 2048;
    const double flops = 6 * matrices * tokens + 3 * 2 * tokens * tokens * 4096 * 32;
    EXPECT_NEAR(c.of(StepPart::Matmuls), flops / 156e12, 0.001 * flops / 156e12);
    EXPECT_EQ(c.of(StepPart::Data), 0);
    EXPECT_EQ(c.of(StepPart::Tensor), 0);
}

TEST(StepCost, ZeroMovesOneOneAndOneAndAHalfTimes) {
    const auto data = [](int stage, int accumulation) {
        return cost({"layout.dp=8", fmt::format("layout.zero_stage={}", stage),
                     fmt::format("layout.accumulation={}", accumulation)})
            .of(StepPart::Data);
    };
    EXPECT_DOUBLE_EQ(data(1, 1), data(0, 1));
    EXPECT_DOUBLE_EQ(data(2, 1), data(0, 1));
    EXPECT_DOUBLE_EQ(data(3, 1), 1.5 * data(0, 1));
    EXPECT_DOUBLE_EQ(data(0, 4), data(0, 1));
    EXPECT_DOUBLE_EQ(data(2, 4), 2.5 * data(0, 1));
    EXPECT_DOUBLE_EQ(data(3, 4), 6 * data(0, 1));
    // 2 x 7/8 x 2 B x parameters over 300 GB/s.
    EXPECT_NEAR(data(0, 1), 2 * 0.875 * 2 * 6'738'415'616.0 / 300e9, 1e-9);
}

TEST(StepCost, HalfTheMicroBatchReadsTheWeightsTwice) {
    const auto whole = cost({"layout.micro_batch=2"}), halves = cost({"layout.accumulation=2"});
    EXPECT_DOUBLE_EQ(whole.of(StepPart::Matmuls), halves.of(StepPart::Matmuls));
    EXPECT_DOUBLE_EQ(2 * whole.of(StepPart::Weights), halves.of(StepPart::Weights));
}

TEST(StepCost, OneLayerInFourIsAQuarterOfTheForward) {
    const auto all = cost({"layout.recompute=full"}),
               some = cost({"layout.recompute=full", "layout.recompute_every=4"});
    EXPECT_DOUBLE_EQ(all.of(StepPart::Recompute), 4 * some.of(StepPart::Recompute));
}

TEST(StepCost, ThePipelinesBubbleIsItsClosedFormAfterTheSlowestRank) {
    const auto c = cost({"layout.pp=4", "layout.accumulation=12"});
    const double work = c.of(StepPart::Matmuls) + c.of(StepPart::Weights);
    // The last of four ranks has the head besides its 8 layers: FLOPs a token of both, halved scores included.
    const double layer = 2 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008) + 2.0 * 2048 * 4096, head = 2.0 * 4096 * 32000;
    const double slowest = (8 * layer + head) / (8 * layer + head / 4);
    EXPECT_NEAR((work + c.of(StepPart::Bubble)) / work, slowest * 15.0 / 12, 1e-9);
}

TEST(StepCost, NodesAreLeftOverTheirLink) {
    auto plan = gpu_plan("llama-7b", {"layout.dp=8"});
    const auto one = step_cost(plan, estimated(plan));
    plan.cluster.gpus_per_node = 4;
    plan.cluster.nodes = 2;
    const auto two = step_cost(plan, estimated(plan));
    EXPECT_NEAR(two.of(StepPart::Data), one.of(StepPart::Data) * 300 / 50, 1e-9);
}

}  // namespace
}  // namespace plimsoll
