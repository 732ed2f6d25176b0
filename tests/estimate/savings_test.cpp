// SPDX-License-Identifier: Apache-2.0
// Partial recomputation, compression, offload of activations, pieces of the loss, splits and lists from files.
#include <gmock/gmock.h>

#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/schedule/stage_times.h"
#include "core/schedule/times.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

constexpr std::int64_t input = 2 * 2048 * 4096;  // what a recomputed LLaMA-7B layer keeps

Bytes activations(const Plan& plan, std::size_t stage = 0) {
    return bytes_of_term(estimated(plan).stages.at(stage), "activations");
}

TEST(PartialRecomputation, EveryFourthLayerKeepsItsInput) {
    const auto layer = estimated(gpu_plan("llama-7b")).stages.at(0).activations_per_layer;
    const auto plan = gpu_plan("llama-7b", {"layout.recompute=full", "layout.recompute_every=4"});
    EXPECT_EQ(activations(plan), 24 * layer + 8 * input);
    EXPECT_EQ(estimated(plan).stages.at(0).activations_per_layer, (24 * layer + 8 * input) / 32);
    // Layers 0, 5, …, 30: the backward of a kept layer and of a recomputed one both come.
    const auto fifth = estimated(gpu_plan("llama-7b", {"layout.recompute=full", "layout.recompute_every=5"}));
    EXPECT_EQ(bytes_of_term(fifth.stages.at(0), "activations"), 25 * layer + 7 * input);
    EXPECT_EQ(bytes_of_term(fifth.stages.at(0), "layer_backward"),
              bytes_of_term(estimated(gpu_plan("llama-7b", {"layout.recompute=full"})).stages.at(0), "layer_backward"));
    EXPECT_THAT(fifth.stages.at(0).find("activations")->formula, HasSubstr("+ 7 recomputed × 16,777,216"));
}

TEST(PartialRecomputation, OnlyTheFirstRanksRecompute) {
    const std::vector<std::string> deep{"layout.pp=4", "layout.accumulation=8", "layout.recompute=full"};
    auto first = deep;
    first.push_back("layout.recompute_stages=1");
    const auto none = gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8"});
    const auto plan = gpu_plan("llama-7b", first);
    EXPECT_EQ(activations(plan, 0), activations(gpu_plan("llama-7b", deep), 0));
    for (std::size_t stage = 1; stage < 4; ++stage) {
        const auto here = estimated(plan).stages.at(stage), there = estimated(none).stages.at(stage);
        EXPECT_EQ(here.total(), there.total());
        EXPECT_EQ(here.find("activations")->name, "Activations");
        EXPECT_EQ(here.find("activations")->formula, there.find("activations")->formula);
    }
    EXPECT_EQ(estimated(plan).stages.at(0).find("activations")->name, "Activations (recompute full)");
}

TEST(PartialRecomputation, OfAVCountsTheRankNotTheStage) {
    // Rank 0 holds layers 0 to 3 and 28 to 31, rank 1 layers 4 to 7 and 24 to 27, …
    const auto plan = gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8", "layout.schedule=zb-v",
                                            "layout.recompute=full", "layout.recompute_stages=1"});
    const auto stages = estimated(plan).stages;
    EXPECT_EQ(bytes_of_term(stages.at(0), "activations"), stages.at(0).alive * 8 * input / 2);
    EXPECT_GT(bytes_of_term(stages.at(3), "activations"), 10 * bytes_of_term(stages.at(0), "activations"));
}

TEST(CompressedActivations, TakeHalfAndUnpackOneOp) {
    const auto plain = estimated(gpu_plan("llama-7b")).stages.at(0);
    const auto packed = estimated(gpu_plan("llama-7b", {"layout.compress_activations=true"})).stages.at(0);
    EXPECT_NEAR(static_cast<double>(bytes_of_term(packed, "activations")),
                65.0 / 128 * static_cast<double>(bytes_of_term(plain, "activations")), 0.01e9);
    EXPECT_THAT(packed.find("activations")->formula, HasSubstr("in 8 bits with a scale a block of 256"));
    const auto full =
        estimated(gpu_plan("llama-7b", {"layout.compress_activations=true", "layout.recompute=full"})).stages.at(0);
    EXPECT_EQ(bytes_of_term(full, "activations"), 32 * (input / 2) * 65 / 64);
}

TEST(OffloadedActivations, TwoLayersStayOnTheDevice) {
    const auto plain = estimated(gpu_plan("llama-7b"));
    const auto away = estimated(gpu_plan("llama-7b", {"layout.offload_activations=true"}));
    const auto layer = plain.stages.at(0).activations_per_layer;
    EXPECT_EQ(bytes_of_term(away.stages.at(0), "activations"), 2 * layer);
    EXPECT_EQ(away.host, 32 * layer);
    ASSERT_EQ(away.host_terms.size(), 1U);
    EXPECT_EQ(away.host_terms[0].key, "host_activations");
    EXPECT_EQ(plain.host, 0);
    // Every rank of a pipeline has its own; the first holds most micro-batches.
    const auto deep =
        estimated(gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8", "layout.offload_activations=true"}));
    EXPECT_EQ(deep.host, 4 * 8 * layer);
    for (const auto& stage : deep.stages) EXPECT_EQ(bytes_of_term(stage, "activations"), 2 * layer);
}

TEST(LossChunks, HoldThePiecesLogitsAndTheWholeGradients) {
    const auto logits = [](const std::vector<std::string>& settings) {
        return bytes_of_term(estimated(gpu_plan("llama-7b", settings)).stages.back(), "logits_and_loss");
    };
    const std::int64_t input_gradient = 2LL * 2048 * 4096, matrix = 32000LL * 4096, waits = input_gradient + 4 * matrix;
    EXPECT_EQ(logits({}), 12LL * 2048 * 32000);
    // bf16: logits in fp32 and their gradient, a piece's part of the head's gradient, and the fp32 sum of the parts.
    EXPECT_EQ(logits({"layout.loss_chunks=8"}), (4LL + 2) * 256 * 32000 + 2 * matrix + waits);
    EXPECT_EQ(logits({"layout.loss_chunks=3"}), (4LL + 2) * 683 * 32000 + 2 * matrix + waits);
    // fp32 works in place.
    EXPECT_EQ(logits({"layout.loss_chunks=8", "numerics.dtype=fp32"}),
              4LL * 256 * 32000 + 2 * input_gradient + 4 * matrix);
    // GPipe's last stage has seven more micro-batches waiting with both gradients.
    EXPECT_EQ(logits({"layout.loss_chunks=8", "layout.pp=2", "layout.accumulation=8", "layout.schedule=gpipe"}),
              (4LL + 2) * 256 * 32000 + 2 * matrix + 8 * waits);
}

TEST(Split, TheStagesHoldWhatTheSplitGivesThem) {
    const auto plan = gpu_plan("llama-3-8b", {"layout.pp=4", "layout.accumulation=8", "layout.split=balanced"});
    const auto layers = layers_per_rank(plan);
    EXPECT_LT(layers.back(), layers.front()) << "the head is worth layers";
    const auto stages = estimated(plan).stages;
    for (std::size_t stage = 0; stage < 4; ++stage) EXPECT_EQ(stages[stage].layers, layers[stage]);
}

TEST(ScheduleFromAFile, SaysWhatIsInFlight) {
    const auto file = std::filesystem::path(testing::TempDir()) / "estimate-list.json";
    ASSERT_TRUE(write_schedule(file, *make_schedule(Schedule::GPipe, {4, 8})));
    auto plan = gpu_plan("llama-7b", {"layout.pp=4", "layout.accumulation=8"});
    plan.layout.schedule_file = file.string();
    for (const auto& stage : estimated(plan).stages) EXPECT_EQ(stage.in_flight, 8);
    std::filesystem::remove(file);
    EXPECT_THAT(estimate_memory(plan).error().message, HasSubstr("layout.schedule_file: "));
}

TEST(KeyValueHeads, MoreTensorRanksThanHeadsHoldOneEach) {
    const auto plan = gpu_plan("llama-2-70b", {"layout.tp=16"});  // 64 heads of 128, 8 key and value heads
    const std::int64_t h = 8192, q = h / 16, kv = 128, f = 28672 / 16;
    const auto rank = estimated(plan).stages.at(0);
    EXPECT_EQ(rank.parameters, 80 * (2 * h * q + 2 * h * kv + 3 * h * f + 2 * h) + 2 * (32000 / 16) * h + h);
}

}  // namespace
}  // namespace plimsoll
