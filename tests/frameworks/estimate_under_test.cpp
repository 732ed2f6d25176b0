// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/estimate_under.h"

#include <gmock/gmock.h>

#include "tests/support/plans.h"

namespace plimsoll {
namespace {

MemoryEstimate under(Framework framework, const Plan& plan) {
    auto estimate = estimate_under(framework, plan);
    EXPECT_TRUE(estimate) << estimate.error().message;
    return estimate ? std::move(*estimate) : MemoryEstimate{};
}

constexpr std::int64_t llama_7b = 6'738'415'616;

TEST(EstimateUnder, PlimsollIsEstimateMemory) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=2"});
    EXPECT_EQ(under(Framework::Plimsoll, plan).fullest().total(), estimated(plan).fullest().total());
}

TEST(EstimateUnder, StatesAreTheFrameworksOwn) {
    const auto plan = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=1"});
    // 4 + 12 / dp B a parameter, with fp32 gradients 6 + 12 / dp; the vocabulary of 32,000 padded to nothing more
    EXPECT_EQ(states(under(Framework::Megatron, plan).stages[0]), llama_7b * 4 + 12 * llama_7b / 8);
    const auto fp32 = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=1", "numerics.fp32_gradients=true"});
    EXPECT_EQ(states(under(Framework::Megatron, fp32).stages[0]), llama_7b * 6 + 12 * llama_7b / 8);
    EXPECT_EQ(states(under(Framework::DeepSpeed, plan).stages[0]), 4 * llama_7b + 12 * llama_7b / 8);
    // bf16_optimizer.py: bf16 weights and gradients, and fp32 gradients of all parameters
    EXPECT_EQ(states(under(Framework::DeepSpeed, fp32).stages[0]), 8 * llama_7b + 12 * llama_7b / 8);
    // 16 / dp, with the weights kept gathered below ZeRO-3; without ZeRO all on each rank
    EXPECT_EQ(states(under(Framework::TorchTitan, plan).stages[0]), 2 * llama_7b + 16 * llama_7b / 8);
    const auto sharded = gpu_plan("llama-7b", {"layout.dp=8", "layout.zero_stage=3"});
    EXPECT_EQ(states(under(Framework::TorchTitan, sharded).stages[0]), 16 * llama_7b / 8);
    EXPECT_EQ(states(under(Framework::TorchTitan, gpu_plan("llama-7b", {"layout.dp=8"})).stages[0]), 16 * llama_7b);
    // Autocast: fp32 weights, gradients and moments, and the casts
    EXPECT_EQ(states(under(Framework::HfTrainer, gpu_plan("llama-7b")).stages[0]), 18 * llama_7b);
}

TEST(EstimateUnder, PrecisionRecipesKeepWhatTheFrameworkKeeps) {
    const auto bytes = [](Framework framework, std::vector<std::string> settings) {
        return states(under(framework, gpu_plan("llama-7b", settings)).stages[0]) / llama_7b;
    };
    const std::string pure = "numerics.weights=pure", narrow = "optimizer.state_dtype=bf16";
    // PyTorch's optimizers keep their states in the weights' dtype: 2 + 2 + 2 x 2.
    EXPECT_EQ(bytes(Framework::HfTrainer, {pure}), 8);
    EXPECT_EQ(bytes(Framework::HfTrainer, {pure, "optimizer.kind=sgd", "optimizer.momentum=0"}), 4);
    EXPECT_EQ(bytes(Framework::HfTrainer, {pure, "numerics.rounding=kahan"}), 10);
    EXPECT_EQ(bytes(Framework::HfTrainer, {pure, "optimizer.kind=adamw-8bit"}), 6);  // and 8 B a block of 256
    EXPECT_EQ(bytes(Framework::HfTrainer, {"numerics.weights=autocast"}), 18);
    EXPECT_EQ(bytes(Framework::TorchTitan, {pure}), 8);
    EXPECT_EQ(bytes(Framework::TorchTitan, {"numerics.weights=autocast"}), 16);
    EXPECT_EQ(bytes(Framework::DeepSpeed, {"numerics.weights=autocast"}), 16);
    // Megatron-LM has masters in any case; its precision-aware optimizer keeps moments in bf16.
    EXPECT_EQ(bytes(Framework::Megatron, {"layout.zero_stage=1", narrow}), 2 + 2 + 4 + 4);
    EXPECT_EQ(bytes(Framework::Megatron, {pure}), 2 + 2 + 4 + 8);
}

TEST(EstimateUnder, DeepSpeedHasItsBuckets) {
    const auto stage = [](const char* preset, const std::vector<std::string>& settings) {
        return under(Framework::DeepSpeed, gpu_plan(preset, settings)).stages.at(0);
    };
    const auto zero3 = stage("llama-7b", {"layout.dp=8", "layout.zero_stage=3"});
    EXPECT_EQ(bytes_of_term(zero3, "reduce_bucket"), 2 * 500'000'000LL);
    EXPECT_EQ(bytes_of_term(zero3, "live_parameters"), 2 * 1'000'000'000LL);
    EXPECT_EQ(bytes_of_term(stage("gpt2", {"layout.dp=8", "layout.zero_stage=3"}), "reduce_bucket"), 2 * 124'439'808);
    // Stages 1 and 2 fill a second bucket while the first one travels; the pipeline engine cannot overlap.
    EXPECT_EQ(bytes_of_term(stage("llama-7b", {"layout.dp=8", "layout.zero_stage=2"}), "reduce_bucket"),
              2 * 2 * 500'000'000LL);
    EXPECT_EQ(bytes_of_term(stage("llama-7b", {"layout.dp=4", "layout.pp=2", "layout.zero_stage=1"}), "reduce_bucket"),
              2 * 500'000'000LL);
}

TEST(EstimateUnder, WhatAFrameworkCannotDoIsRefusedWithTheCure) {
    const auto trainer = estimate_under(Framework::HfTrainer, gpu_plan("llama-7b", {"layout.tp=2"}));
    ASSERT_FALSE(trainer);
    EXPECT_THAT(trainer.error().message, testing::HasSubstr("look at it under deepspeed"));
    const auto titan = estimate_under(Framework::TorchTitan, gpu_plan("t5-11b"));
    ASSERT_FALSE(titan);
    EXPECT_THAT(titan.error().message, testing::HasSubstr("encoder-decoder"));
}

TEST(EstimateUnder, EveryTermSaysHowAndFromWhere) {
    for (const auto framework : frameworks) {
        const auto estimate = under(framework, gpu_plan("llama-7b", framework == Framework::HfTrainer
                                                                        ? std::vector<std::string>{"layout.dp=2"}
                                                                        : std::vector<std::string>{"layout.tp=2"}));
        for (const auto& term : estimate.fullest().terms) {
            EXPECT_FALSE(term.formula.empty()) << name_of(framework) << " " << term.key;
            EXPECT_FALSE(term.source.empty()) << name_of(framework) << " " << term.key;
        }
    }
}

TEST(EstimateUnder, MetricsLeaveOutWhatTheyDoNotCount) {
    const auto rank = under(Framework::Megatron, gpu_plan("llama-7b", {"layout.tp=2"})).fullest();
    EXPECT_LT(peak_by(PeakMetric::Allocated, rank), peak_by(PeakMetric::Reserved, rank));
    EXPECT_EQ(peak_by(PeakMetric::Reserved, rank) + bytes_of_term(rank, "cuda_context") + bytes_of_term(rank, "nccl"),
              peak_by(PeakMetric::Process, rank));
    EXPECT_EQ(peak_by(PeakMetric::Process, rank), rank.total());
}

}  // namespace
}  // namespace plimsoll
