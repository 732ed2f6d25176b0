// SPDX-License-Identifier: Apache-2.0
// The peak of a rank is the larger of backward's and the optimizer step's.
#include <gmock/gmock.h>

#include "core/frameworks/estimate_under.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

MemoryEstimate under(Framework framework, const Plan& plan, std::optional<StepLoop> loop = std::nullopt) {
    auto estimate = loop ? estimate_under(framework, plan, *loop) : estimate_under(framework, plan);
    EXPECT_TRUE(estimate) << estimate.error().message;
    return estimate ? std::move(*estimate) : MemoryEstimate{};
}

double gib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(GiB); }

Plan llama_on_v100(const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{"layout.dp=8", "layout.zero_stage=2", "numerics.dtype=fp16",
                                      "data.sequence_length=512"};
    settings.insert(settings.end(), more.begin(), more.end());
    auto plan = gpu_plan("llama-7b", settings);
    plan.cluster.gpu = "V100 SXM2 32GB";
    return plan;
}

// hiyouga/LlamaFactory issue 1221: LLaMA-7B, ZeRO-2, 8 x V100-32GB, torch.optim's AdamW. Its line
// denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps) asked for 3.14 GiB beside 28.28 allocated, and ran out.
TEST(StepPeak, LlamaUnderZero2OnV100RunsOutInTheStep) {
    const auto estimate = under(Framework::DeepSpeed, llama_on_v100(), StepLoop::Single);
    EXPECT_NEAR(gib(estimate.fullest().live()), 28.28 + 3.14, 0.05);
    EXPECT_FALSE(estimate.fits());
    // FusedAdam, which the exported file names, works in place: the copies of the gradients' shard remain.
    const auto fused = under(Framework::DeepSpeed, llama_on_v100());
    EXPECT_TRUE(fused.fits());
    EXPECT_GE(fused.fullest().live(), 2 * 6'738'415'616 + (12 + 2 + 6) * 6'738'415'616 / 8);
    EXPECT_THAT(fused.notes, testing::Contains(testing::HasSubstr("with torch.optim's AdamW")));
}

TEST(StepPeak, OffloadStepsOnTheHost) {
    const auto rank =
        under(Framework::DeepSpeed, llama_on_v100({"layout.offload_optimizer=cpu"}), StepLoop::Single).fullest();
    EXPECT_EQ(bytes_of_term(rank, "optimizer_step"), 0);
}

TEST(StepPeak, IsHiddenWhereBackwardNeedsMore) {
    const auto rank =
        under(Framework::DeepSpeed, llama_on_v100({"layout.micro_batch=4", "layout.dp=64"}), StepLoop::Single)
            .fullest();
    EXPECT_EQ(bytes_of_term(rank, "optimizer_step"), 0);
}

// adamw_torch is foreach on a GPU: 4 B a parameter, where few tokens leave little to be freed.
TEST(StepPeak, TrainerStepsWithForeach) {
    const auto plan = gpu_plan("gpt2", {"data.sequence_length=16"});
    const auto foreach = under(Framework::HfTrainer, plan).fullest();
    const auto fused = under(Framework::HfTrainer, plan, StepLoop::Fused).fullest();
    EXPECT_EQ(bytes_of_term(fused, "optimizer_step"), 0);
    const Bytes freed = foreach.of(Category::Activations) + bytes_of_term(foreach, "logits_and_loss");
    EXPECT_EQ(bytes_of_term(foreach, "optimizer_step"), 4 * 124'439'808LL - freed);
    EXPECT_THAT(under(Framework::HfTrainer, plan).notes,
                testing::Contains(testing::HasSubstr("adamw_torch_fused needs")));
}

TEST(StepPeak, FusedKernelsWorkInPlace) {
    for (const auto framework : {Framework::Megatron, Framework::TorchTitan}) {
        const auto plan = gpu_plan("gpt2", {"data.sequence_length=16", "numerics.fp32_gradients=true"});
        EXPECT_EQ(bytes_of_term(under(framework, plan).fullest(), "optimizer_step"), 0) << name_of(framework);
    }
    // FSDP2 with implementation = "foreach" or "for-loop"
    const auto plan = gpu_plan("gpt2", {"data.sequence_length=16", "layout.dp=2", "layout.zero_stage=3"});
    EXPECT_GT(bytes_of_term(under(Framework::TorchTitan, plan, StepLoop::Foreach).fullest(), "optimizer_step"), 0);
    // Megatron-LM copies gradients below fp32 for its masters.
    EXPECT_GT(bytes_of_term(under(Framework::Megatron, gpu_plan("gpt2", {"data.sequence_length=16"})).fullest(),
                            "optimizer_step"),
              0);
}

}  // namespace
}  // namespace plimsoll
