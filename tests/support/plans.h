// SPDX-License-Identifier: Apache-2.0
// Plans for the tests of the estimator.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/estimate/estimate.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"

namespace plimsoll {

/// A model preset on as many "A100 SXM4 80GB" as its layout needs; bf16, flash attention, one sequence of 2048 a rank
/// (shorter where the model has fewer learned positions).
inline Plan gpu_plan(const std::string& preset, const std::vector<std::string>& settings = {}) {
    Plan plan;
    const auto model = model_preset(preset);
    EXPECT_TRUE(model) << preset;
    if (model) plan.model = *model;
    plan.cluster.gpu = "A100 SXM4 80GB";
    plan.layout.dp = 1;
    plan.layout.micro_batch = 1;
    plan.numerics.dtype = Dtype::Bf16;
    plan.data.sequence_length = 2048;
    if (plan.model.position == Position::Learned)
        plan.data.sequence_length = std::min<std::int64_t>(2048, plan.model.max_position);
    const auto set = with_settings(plan, settings);
    EXPECT_TRUE(set) << set.error().message;
    if (set) plan = *set;
    plan.cluster.gpus_per_node = plan.layout.world_size();
    plan.cluster.nodes = 1;
    return plan;
}

inline MemoryEstimate estimated(const Plan& plan) {
    auto estimate = estimate_memory(plan);
    EXPECT_TRUE(estimate) << estimate.error().message;
    return estimate ? std::move(*estimate) : MemoryEstimate{};
}

inline Bytes bytes_of_term(const RankMemory& rank, std::string_view key) {
    const auto* term = rank.find(key);
    EXPECT_NE(term, nullptr) << key;
    return term ? term->bytes : -1;
}

inline Bytes states(const RankMemory& rank) {
    return rank.of(Category::Parameters) + rank.of(Category::Gradients) + rank.of(Category::Optimizer);
}

}  // namespace plimsoll
