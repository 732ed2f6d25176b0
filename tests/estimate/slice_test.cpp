// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/slice.h"

#include <gtest/gtest.h>

#include "core/plan/parameters.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

/// Parameters that every tensor-parallel rank holds whole: norms, row-parallel biases, routers, learned positions.
std::int64_t replicated(const Model& model) {
    const auto counts = count_parameters(model);
    const auto h = model.hidden_size;
    const auto layer = counts.norms + (model.linear_bias ? 2 * h : 0) + (model.moe() ? model.num_experts * h : 0);
    return model.num_layers * layer + counts.final_norm + (model.position == Position::Learned ? counts.positions : 0);
}

std::int64_t sum_over_stages(const Plan& plan) {
    Count sum;
    for (const auto& slice : slices(plan)) sum += slice.total;
    return sum.value();
}

TEST(Slice, OneRankHoldsEveryParameterOfEveryPreset) {
    for (const auto& preset : model_preset_names()) {
        const auto plan = gpu_plan(preset);
        EXPECT_EQ(slices(plan).at(0).total.value(), count_parameters(plan.model).total) << preset;
    }
}

TEST(Slice, StagesAddUpToTheModel) {
    for (const auto& preset : {"llama-7b", "llama-3-8b", "mixtral-8x7b", "qwen2.5-7b", "gpt2-xl"})
        for (const auto& pp : {"2", "3", "4", "5"}) {
            const auto plan = gpu_plan(preset, {std::string("layout.pp=") + pp});
            const auto counts = count_parameters(plan.model);
            // Both ends hold a tied embedding.
            const auto copy = plan.model.tied_head ? counts.input_embedding : 0;
            EXPECT_EQ(sum_over_stages(plan), counts.total + copy) << preset << ", pp " << pp;
        }
}

TEST(Slice, TensorParallelRanksAddUpToTheModel) {
    for (const auto& preset : {"llama-7b", "llama-3-8b", "mixtral-8x7b", "qwen2.5-7b", "gpt2-medium"})
        for (const std::int64_t tp : {2, 4}) {
            const auto plan = gpu_plan(preset, {"layout.tp=" + std::to_string(tp)});
            const auto& m = plan.model;
            const auto rows = (m.vocab_size + tp - 1) / tp;
            const auto padding = (rows * tp - m.vocab_size) * m.hidden_size * (m.tied_head ? 1 : 2);
            EXPECT_EQ(tp * sum_over_stages(plan), count_parameters(m).total + (tp - 1) * replicated(m) + padding)
                << preset << ", tp " << tp;
        }
}

TEST(Slice, ExpertParallelRanksAddUpToTheExperts) {
    const auto plan = gpu_plan("mixtral-8x7b", {"layout.dp=8", "layout.ep=4"});
    const auto counts = count_parameters(plan.model);
    const auto slice = slices(plan).at(0);
    EXPECT_EQ((4 * slice.experts).value(), 32 * 8 * counts.expert);
    EXPECT_EQ(slice.dense().value(), counts.total - 32 * 8 * counts.expert);
}

TEST(Slice, FormulaAddsUpToItsTotal) {
    const auto slice = slices(gpu_plan("llama-7b")).at(0);
    EXPECT_EQ(slice.formula(), "131,072,000 embedding + 32 layers × 202,383,360 + 4,096 final norm + 131,072,000 head");
}

}  // namespace
}  // namespace plimsoll
