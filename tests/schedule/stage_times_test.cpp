// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/schedule/layer_flops.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_times.h"
#include "core/schedule/times.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

// A block whose FLOPs can be added by hand: h 64, f 256, two MLP matrices, V 1000, s 32.
// A token of a layer: 2 (4 x 64^2 + 2 x 64 x 256) = 98,304, and 4 x 32 x 64 = 8,192 for the scores; head 2 x 64 x 1000.
Plan small_plan(std::int64_t layers, std::int64_t stages) {
    Plan plan;
    plan.model.hidden_size = 64;
    plan.model.num_layers = layers;
    plan.model.num_heads = plan.model.num_kv_heads = 4;
    plan.model.ffn_hidden_size = 256;
    plan.model.activation = Activation::Gelu;
    plan.model.vocab_size = 1000;
    plan.data.sequence_length = 32;
    plan.numerics.attention = Attention::Eager;
    plan.layout.pp = stages;
    return plan;
}
constexpr double rest = 98304, scores = 8192, layer = rest + scores, head = 128000;

Seconds backward(const StageTimes& times, std::size_t stage) {
    return times.backward_input[stage] + times.backward_weight[stage];
}

TEST(LayersPerStage, ChunksAreStagesToo) {
    auto plan = small_plan(10, 4);
    plan.layout.schedule = Schedule::Interleaved;
    plan.layout.chunks = 2;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(2, 2, 1, 1, 1, 1, 1, 1));
    EXPECT_THAT(layers_per_rank(plan), ElementsAre(3, 3, 2, 2));
    EXPECT_EQ(head_rank(plan), 3);
    // Folded: stages 0 and 7 on rank 0, 1 and 6 on rank 1, …
    plan.layout.schedule = Schedule::ZbV;
    EXPECT_THAT(layers_per_rank(plan), ElementsAre(3, 3, 2, 2));
    EXPECT_EQ(head_rank(plan), 0);
    plan.layout.pp = 1;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(10));
}

TEST(LayersPerStage, FirstStagesHoldTheRemainder) {
    EXPECT_THAT(layers_per_stage(small_plan(10, 4)), ElementsAre(3, 3, 2, 2));
    EXPECT_THAT(layers_per_stage(small_plan(3, 1)), ElementsAre(3));
    auto t5 = small_plan(3, 4);
    t5.model.family = Family::T5;
    EXPECT_THAT(layers_per_stage(t5), ElementsAre(2, 2, 1, 1));
}

TEST(RelativeStageTimes, MiddleStageTakesOneAndTheHeadIsOnTheLast) {
    const auto times = relative_stage_times(small_plan(8, 4));
    EXPECT_DOUBLE_EQ(times.forward[0], 1);
    EXPECT_DOUBLE_EQ(times.forward[2], 1);
    EXPECT_DOUBLE_EQ(times.forward[3], 1 + head / (2 * layer));
    for (std::size_t s = 0; s < 4; ++s) EXPECT_DOUBLE_EQ(backward(times, s), 2 * times.forward[s]);
    // Scores hold no weights: their two gradients are both the input's.
    EXPECT_DOUBLE_EQ(times.backward_weight[0], rest / layer);
    EXPECT_DOUBLE_EQ(times.backward_input[0], (rest + 2 * scores) / layer);
    EXPECT_THAT(times.send, ElementsAre(0, 0, 0));
}

TEST(RelativeStageTimes, UnevenLayersAreUnevenTimes) {
    const auto times = relative_stage_times(small_plan(5, 3));
    EXPECT_DOUBLE_EQ(times.forward[0], 2 / (5.0 / 3));
    EXPECT_DOUBLE_EQ(times.forward[2], (layer + head) / (5.0 / 3 * layer));
}

TEST(RelativeStageTimes, RecomputationAddsToTheBackward) {
    auto plan = small_plan(8, 4);
    plan.layout.recompute = Recompute::Full;
    const auto full = relative_stage_times(plan);
    EXPECT_DOUBLE_EQ(backward(full, 1), 3);
    EXPECT_DOUBLE_EQ(backward(full, 3), 3 + 2 * head / (2 * layer));  // the head is not recomputed
    plan.layout.recompute = Recompute::Selective;
    EXPECT_DOUBLE_EQ(backward(relative_stage_times(plan), 1), 2 + scores / layer);
    plan.layout.recompute = Recompute::Mlp;
    plan.numerics.attention = Attention::Flash;
    const auto flops = layer_flops(plan, true);
    EXPECT_NEAR(backward(relative_stage_times(plan), 1), 2 + flops.mlp_again / flops.total(), 1e-12);
}

TEST(LayerFlops, OfTheMlpAllButTheLastProductIsRepeated) {
    auto plan = small_plan(8, 1);
    auto& m = plan.model;
    const auto h = static_cast<double>(m.hidden_size), f = static_cast<double>(m.ffn_hidden_size);
    const auto q = static_cast<double>(m.num_heads * m.head_size());
    plan.numerics.attention = Attention::Flash;
    const auto flash = layer_flops(plan, true);
    EXPECT_DOUBLE_EQ(flash.mlp_again, 2 * (m.gated_mlp() ? 2 : 1) * h * f);
    plan.numerics.attention = Attention::Eager;
    EXPECT_DOUBLE_EQ(layer_flops(plan, true).mlp_again,
                     flash.mlp_again + 2 * static_cast<double>(plan.data.sequence_length) * q);
}

TEST(LayersPerStage, BalancedTakesLayersOffTheStageWithTheHead) {
    // The head costs 128,000 of a layer's 106,496 FLOPs forward and the same twice backward: 1.2 layers.
    auto plan = small_plan(10, 3);
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(4, 3, 3));
    plan.layout.split = Split::Balanced;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(4, 4, 2));
    EXPECT_DOUBLE_EQ(relative_stage_times(plan).forward[1], 4 / (10.0 / 3));
    plan.layout.pp = 1;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(10));
    plan.layout.pp = 20;  // a plan that check_plan refuses has no balanced split
    EXPECT_EQ(layers_per_stage(plan).size(), 20U);
}

TEST(LayersPerStage, BalancedCountsWhatARankRecomputes) {
    auto plan = small_plan(14, 2);
    plan.model.vocab_size = 2;
    plan.layout.split = Split::Balanced;
    plan.layout.recompute = Recompute::Full;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(7, 7));
    // 4 forwards a layer on rank 0, 3 on rank 1.
    plan.layout.recompute_stages = 1;
    EXPECT_THAT(layers_per_stage(plan), ElementsAre(6, 8));
}

TEST(RelativeStageTimes, OnlyEverySoManyethLayerIsComputedAgain) {
    auto plan = small_plan(8, 4);
    plan.layout.recompute = Recompute::Full;
    plan.layout.recompute_every = 2;
    EXPECT_DOUBLE_EQ(backward(relative_stage_times(plan), 1), 2.5);
    plan.layout.recompute_every = 3;  // layers 0, 3, 6
    const auto thirds = relative_stage_times(plan);
    EXPECT_DOUBLE_EQ(backward(thirds, 0), 2.5);
    EXPECT_DOUBLE_EQ(backward(thirds, 1), 2.5);
    EXPECT_DOUBLE_EQ(backward(thirds, 2), 2);
}

TEST(RelativeStageTimes, OnlyTheFirstRanksComputeAgain) {
    auto plan = small_plan(8, 4);
    plan.layout.recompute = Recompute::Selective;
    plan.layout.recompute_stages = 1;
    const auto times = relative_stage_times(plan);
    EXPECT_DOUBLE_EQ(backward(times, 0), 2 + scores / layer);
    EXPECT_DOUBLE_EQ(backward(times, 1), 2);
    // Under a V schedule rank 0 holds the first stage and the last.
    plan.layout.schedule = Schedule::ZbV;
    const auto folded = relative_stage_times(plan);
    EXPECT_NEAR(backward(folded, 7) - 2 * folded.forward[7], scores / layer / 2, 1e-12);
    EXPECT_DOUBLE_EQ(backward(folded, 4), 1);
}

TEST(RelativeStageTimes, FlashAttentionSkipsTheMaskedHalf) {
    auto plan = small_plan(8, 2);
    plan.numerics.attention = Attention::Flash;
    EXPECT_DOUBLE_EQ(relative_stage_times(plan).forward[1] - 1, head / (4 * (rest + scores / 2)));
}

TEST(RelativeStageTimes, OnlyTheExpertsOfATokenCount) {
    auto plan = small_plan(8, 2);
    plan.model.num_experts = 8;
    plan.model.experts_per_token = 2;
    const double mlp = 2 * 2 * 64 * 256, router = 2 * 64 * 8;
    const double moe_layer = layer + mlp + router;  // a second expert and the router
    EXPECT_DOUBLE_EQ(relative_stage_times(plan).forward[1], 1 + head / (4 * moe_layer));
}

TEST(RelativeStageTimes, T5DecoderLayersAlsoAttendToTheEncoder) {
    auto plan = small_plan(4, 2);
    plan.model.family = Family::T5;
    const double decoder_layer = layer + scores + 2 * 4 * 64 * 64;
    const auto times = relative_stage_times(plan);
    const double average = (layer + decoder_layer) / 2;
    EXPECT_DOUBLE_EQ(times.forward[0], layer / average);
    EXPECT_DOUBLE_EQ(times.forward[1], (decoder_layer + head / 4) / average);
}

}  // namespace
}  // namespace plimsoll
