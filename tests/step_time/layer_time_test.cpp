// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/layer_time.h"

#include "core/step_time/collective_time.h"
#include "core/step_time/matmul_time.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// No gaps, no launches, no ramp: what is left is arithmetic and bytes.
Hardware plain() {
    Hardware h;
    h.peak = 100e12, h.memory = 1e12, h.node_link = 100e9, h.nic = 10e9, h.processors = 64, h.a_node = 8;
    h.efficiency = {};
    h.efficiency.matmul = h.efficiency.memory = h.efficiency.node_link = h.efficiency.nic = 1;
    h.efficiency.flash = h.efficiency.flash_backward = h.efficiency.scores = 1;
    h.efficiency.inner_ramp = h.efficiency.kernel = h.efficiency.host_kernel = h.efficiency.host_collective = 0;
    h.efficiency.node_hop = h.efficiency.nic_hop = 0;
    return h;
}

TEST(MatmulTime, FullWavesReachThePeak) {
    // 64 tiles of 256 x 128 on 64 processors.
    EXPECT_DOUBLE_EQ(matmul_time(plain(), 2048, 1024, 4096, 2), 2 * 2048.0 * 1024 * 4096 / 100e12);
}

TEST(MatmulTime, AWaveThatIsNotFullTakesAsLong) {
    auto h = plain();
    h.efficiency.small_tile = h.efficiency.smaller_tile = 0.1;
    const Seconds one_wave = matmul_time(h, 2048, 1024, 8192, 2);
    EXPECT_DOUBLE_EQ(matmul_time(h, 2048, 1024 + 128, 8192, 2), 2 * one_wave);
    EXPECT_DOUBLE_EQ(matmul_time(h, 1024, 1024, 8192, 2), one_wave) << "half a wave";
}

TEST(MatmulTime, ThinProductsAreBoundByMemory) {
    auto h = plain();
    h.memory = 1e11;
    EXPECT_DOUBLE_EQ(matmul_time(h, 1, 4096, 4096, 2), 2.0 * (4096 + 4096.0 * 4096 + 4096) / 1e11);
}

TEST(LayerTime, FlashAttentionIsTwoAndFiveProductsHalfMasked) {
    const auto plan = gpu_plan("llama-7b");
    const auto time = layer_time(plan, plain());
    const double product = 2 * 2048.0 * 2048 * 4096 / 2;
    EXPECT_DOUBLE_EQ(time.forward.attention, 2 * product / 100e12);
    EXPECT_DOUBLE_EQ(time.backward_input.attention, 5 * product / 100e12);
    EXPECT_DOUBLE_EQ(time.core.attention, time.forward.attention);
    EXPECT_EQ(time.backward_weight.attention, 0);
}

TEST(LayerTime, TensorParallelRanksAddTwoAllReducesEachWay) {
    auto plan = gpu_plan("llama-7b", {"layout.tp=8"});
    const auto h = plain();
    const auto time = layer_time(plan, h);
    const double bytes = 2 * 2048.0 * 4096;
    EXPECT_DOUBLE_EQ(time.forward.tensor, 2 * all_reduce_time(h, {8, 8}, bytes));
    EXPECT_DOUBLE_EQ(time.backward_input.tensor, time.forward.tensor);
    plan.layout.sequence_parallel = true;
    const auto split = layer_time(plan, h);
    EXPECT_DOUBLE_EQ(split.forward.tensor, time.forward.tensor) << "as many bytes";
    EXPECT_LT(split.forward.elementwise, time.forward.elementwise);
}

TEST(LayerTime, TheHostBindsSmallLayers) {
    auto h = plain();
    h.efficiency.host_kernel = 1e-3;
    const auto plan = gpu_plan("gpt2-tiny");
    const auto time = layer_time(plan, h);
    EXPECT_GT(time.forward.host, 0.9 * time.forward.total());
    h.efficiency.host_kernel = 0;
    EXPECT_EQ(layer_time(plan, h).forward.host, 0);
}

TEST(LayerTime, ExpertsAreDealtOverTheirRanks) {
    const auto h = plain();
    const auto one = layer_time(gpu_plan("mixtral-8x7b", {"layout.dp=4"}), h);
    const auto four = layer_time(gpu_plan("mixtral-8x7b", {"layout.dp=4", "layout.ep=4"}), h);
    EXPECT_EQ(one.forward.expert, 0);
    EXPECT_GT(four.forward.expert, 0);
    EXPECT_NEAR(four.forward.matmul / one.forward.matmul, 1, 0.2) << "each rank takes its share of all ranks' tokens";
}

TEST(LayerTime, LongRingsHideBehindTheAttention) {
    const auto h = plain();
    const auto short_ones = layer_time(gpu_plan("llama-7b", {"layout.cp=8"}), h);
    EXPECT_GT(short_ones.forward.context, 0);
    auto plan = gpu_plan("llama-7b", {"layout.cp=8"});
    plan.data.sequence_length = 1 << 18;
    plan.model.max_position = 1 << 18;
    EXPECT_EQ(layer_time(plan, h).forward.context, 0);
}

}  // namespace
}  // namespace plimsoll
