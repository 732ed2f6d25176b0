// SPDX-License-Identifier: Apache-2.0
// Norm placement, initial weights, side losses, AdaGC and the noise scale: the same training under every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/conformance/layout_run.h"

namespace plimsoll::engine {
namespace {

LayoutRun run(const std::string& preset, const std::string& layout, int steps = 4) {
    return run_preset(preset, layout, steps);
}

class Variants : public ::testing::TestWithParam<const char*> {};

TEST_P(Variants, TrainTheSameUnderEveryLayout) {
    const std::string option = GetParam();
    for (const char* preset : {"gpt2", "llama-2-70b"}) {
        if (option.find("mup") != std::string::npos && std::string(preset) == "gpt2") continue;  // its head is tied
        const LayoutRun plain = run(preset, "dp=1"), one = run(preset, option);
        EXPECT_GT(largest_difference(one.weights, plain.weights), 1e-5) << option << " does something";
        for (const char* layout :
             {"dp=2 zero=1", "dp=2 zero=3", "tp=2", "tp=4 sp", "tp=2 sp pp=2", "cp=2", "recompute=full",
              "tp=2 recompute=selective", "loss_chunks=3", "tp=2 loss_chunks=3"}) {
            const std::string all = fmt::format("{} {}", layout, option);
            expect_same_training(run(preset, all), one, preset + (" " + all));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Stability, Variants,
                         ::testing::Values("model.norm_placement=post", "model.norm_placement=sandwich",
                                           "model.norm_placement=deepnorm", "model.qk_norm=true", "model.init=guide",
                                           "model.init=plain", "model.mup_base_width=16", "model.z_loss=0.01",
                                           "model.embedding_gradient=0.1",
                                           "model.norm_placement=sandwich model.dropout=0.1 model.qk_norm=true"));

TEST(Variants, OfExpertsTrainTheSameToo) {
    for (const std::string option :
         {"model.norm_placement=sandwich", "model.z_loss=0.01", "optimizer.clip_rule=adagc"}) {
        const LayoutRun one = run("mixtral-8x7b", option);
        for (const char* layout : {"dp=2 ep=2 zero=1", "tp=2 sp"}) {
            const std::string all = fmt::format("{} {}", layout, option);
            expect_same_training(run("mixtral-8x7b", all), one, all);
        }
    }
}

TEST(ZLoss, IsReportedApartFromTheLoss) {
    const LayoutRun plain = run("llama-7b", "dp=1", 1), with = run("llama-7b", "model.z_loss=0.01", 1);
    EXPECT_NEAR(plain.losses[0], with.losses[0], 1e-6);
    EXPECT_EQ(plain.z_losses[0], 0);
    // Logits near 0 over a vocabulary V: about (log V)^2, which is also about the square of the loss.
    EXPECT_NEAR(with.z_losses[0], 0.01 * with.losses[0] * with.losses[0], 0.01);
    EXPECT_DOUBLE_EQ(plain.validation_loss, run("llama-7b", "dp=1", 1).validation_loss);
}

TEST(AdaGc, HoldsEachTensorToItsAverage) {
    // A limit that the warmup cuts at: the same as one clip of all, and averages that are saved.
    const LayoutRun common = run("llama-7b", "optimizer.clip=0.05"),
                    by_tensor = run("llama-7b", "optimizer.clip=0.05 optimizer.clip_rule=adagc");
    EXPECT_LT(largest_difference(by_tensor.weights, common.weights), 1e-6);
    EXPECT_TRUE(by_tensor.optimizer.contains("adagc/model.norm.weight"));
    EXPECT_FALSE(common.optimizer.contains("adagc/model.norm.weight"));
}

TEST(AdaGc, ClipsAlikeUnderEveryLayout) {
    // Past its warmup of 100 updates; a rate so low that no rounding grows meanwhile.
    const std::string settings = "optimizer.lr=1e-6 optimizer.clip_rule=adagc";
    const LayoutRun one = run("llama-2-70b", settings, 110), common = run("llama-2-70b", "optimizer.lr=1e-6", 110);
    EXPECT_GT(largest_difference(one.optimizer, common.optimizer), 1e-4) << "tensors are clipped apart";
    for (const char* layout : {"dp=2 zero=3", "tp=2 sp pp=2"}) {
        const LayoutRun other = run("llama-2-70b", fmt::format("{} {}", layout, settings), 110);
        EXPECT_LT(largest_difference(other.optimizer, one.optimizer), 2e-5) << layout;
        EXPECT_LT(largest_difference(other.weights, one.weights), 1e-5) << layout;
    }
}

/// Weights that do not move, so that steps are batches of one model.
constexpr const char* still = "optimizer.lr=1e-30 training.noise_scale_every=1";

TEST(NoiseScale, ComparesAPartOfTheBatchWithAllOfIt) {
    // One micro-batch of four sequences after the other: each is a batch of the run below.
    const LayoutRun halves = run("llama-7b", fmt::format("micro_batch=4 accumulation=2 {}", still), 1);
    Plan half = conformance_plan("llama-7b", fmt::format("micro_batch=2 accumulation=2 {}", still));
    half.layout.accumulation = 2;
    const LayoutRun alone = run_layout(half, 1);
    ASSERT_EQ(halves.noise.size(), 1U);
    const auto& [small, big] = halves.noise.front();
    EXPECT_EQ(small.batch * 2, big.batch);
    EXPECT_NEAR(small.squared_norm / alone.noise[0].second.squared_norm, 1, 1e-5);
    EXPECT_GT(small.squared_norm, big.squared_norm);
}

TEST(NoiseScale, IsTheSameUnderEveryLayout) {
    const LayoutRun two = run("llama-7b", fmt::format("dp=2 {}", still), 1);
    const auto& [small, big] = two.noise.front();
    EXPECT_EQ(small.batch * 2, big.batch);
    for (const char* layout : {"dp=2 zero=1", "dp=2 zero=3", "dp=2 zero=2", "dp=2 tp=2", "dp=2 tp=2 sp", "dp=2 pp=2"}) {
        const LayoutRun other = run("llama-7b", fmt::format("{} {}", layout, still), 1);
        const auto& [other_small, other_big] = other.noise.front();
        EXPECT_NEAR(other_big.squared_norm / big.squared_norm, 1, 1e-5) << layout;
        if (other_small.batch != small.batch) continue;  // a pipeline has more micro-batches
        EXPECT_NEAR(other_small.squared_norm / small.squared_norm, 1, 1e-5) << layout;
    }
}

}  // namespace
}  // namespace plimsoll::engine
