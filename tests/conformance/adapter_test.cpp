// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters: the same training under every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/adapter.h"
#include "tests/conformance/layout_run.h"

namespace plimsoll::engine {
namespace {

using ::testing::HasSubstr;

LayoutRun run(const std::string& preset, const std::string& layout) { return run_preset(preset, layout, 4); }

constexpr const char* adapters = "adapter.rank=4 adapter.alpha=64 optimizer.lr=0.01";

class Adapters : public ::testing::TestWithParam<const char*> {};

TEST_P(Adapters, TrainTheSameUnderEveryLayout) {
    const std::string preset = GetParam();
    const LayoutRun one = run(preset, adapters);
    // After the first step, in which A has no gradient yet, both have moved.
    EXPECT_GT(one.grad_norms.back(), 0);
    for (const char* layout : {"dp=2", "dp=2 zero=1", "dp=2 zero=2", "tp=2", "tp=4 sp", "pp=2", "pp=2 schedule=zb-h1",
                               "tp=2 sp pp=2 dp=2 zero=1", "cp=2", "recompute=full", "tp=2 recompute=selective",
                               "loss_chunks=3", "tp=2 loss_chunks=3"}) {
        const std::string all = fmt::format("{} {}", layout, adapters);
        expect_same_training(run(preset, all), one, preset + (" " + all));
    }
}

INSTANTIATE_TEST_SUITE_P(Families, Adapters, ::testing::Values("gpt2", "llama-2-70b", "qwen2.5-7b"));

TEST(Adapters, OfSomeMatricesTrainAlikeToo) {
    for (const std::string option :
         {"adapter.targets=q_proj,down_proj", "adapter.targets=attention optimizer.kind=lamb",
          "optimizer.kind=adafactor", "adapter.rank_stabilized=true"}) {
        const LayoutRun one = run("llama-2-70b", fmt::format("{} {}", adapters, option));
        for (const char* layout : {"dp=2 zero=1", "tp=4 sp", "tp=2 pp=2"}) {
            const std::string all = fmt::format("{} {} {}", layout, adapters, option);
            expect_same_training(run("llama-2-70b", all), one, all);
        }
    }
}

TEST(Adapters, OfExpertsStandOnTheAttention) {
    const LayoutRun one = run("mixtral-8x7b", adapters);
    for (const auto& [name, tensor] : one.weights) EXPECT_THAT(name, HasSubstr("self_attn"));
    for (const char* layout : {"dp=2 ep=2 zero=1", "tp=2 sp"}) {
        const std::string all = fmt::format("{} {}", layout, adapters);
        expect_same_training(run("mixtral-8x7b", all), one, all);
    }
}

TEST(Adapters, AreAllThatTrains) {
    const Plan plan = conformance_plan("llama-2-70b", adapters);
    const LayoutRun one = run("llama-2-70b", adapters);
    std::int64_t numbers = 0;
    for (const auto& [name, tensor] : one.weights) {
        EXPECT_THAT(name, HasSubstr(".lora_"));
        numbers += tensor.numel();
    }
    EXPECT_EQ(numbers, adapter_parameters(plan));
    EXPECT_EQ(one.optimizer.size(), 2 * one.weights.size()) << "two moments each";
    // B begins at 0, so that the first loss is that of the model alone; what follows is not.
    const LayoutRun plain = run("llama-2-70b", "optimizer.lr=0.01");
    EXPECT_DOUBLE_EQ(one.losses[0], plain.losses[0]);
    EXPECT_LT(one.losses[3], one.losses[0]);
}

}  // namespace
}  // namespace plimsoll::engine
