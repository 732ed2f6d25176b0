// SPDX-License-Identifier: Apache-2.0
// Relative times of the stages of a plan.
#pragma once

#include "core/schedule/times.h"

namespace plimsoll {

/// Error unless there is one finite, non-negative time of each kind for each of `stages`.
Result<void> check_times(const StageTimes& times, int stages);

/// Layers on each of the plan's stages (pp x chunks), by layout.split: as equal in number as possible, the first ones
/// hold one more; or balanced_partition(plan), and the even split where that has none. T5's encoder layers come first,
/// its decoder layers after them.
std::vector<std::int64_t> layers_per_stage(const Plan& plan);

/// Layers on each pipeline rank: those of its stages.
std::vector<std::int64_t> layers_per_rank(const Plan& plan);

/// The rank that holds the last stage and so the head: rank 0 under a V schedule.
std::int64_t head_rank(const Plan& plan);

/// Stages a rank of the plan holds: 1 without a pipeline.
std::int64_t chunks_per_rank(const Plan& plan);

/// Relative times of the plan's stages with the given layers on each, from each stage's FLOPs: 2 a parameter and token
/// in every matrix product (the embedding is a look-up and costs none, the head is on the last stage), 4 x s x heads x
/// head size a token for attention scores (half of it where flash attention skips the masked half). The input gradient
/// costs as much as the forward plus the scores once more (two products for one) and what is recomputed (selective: the
/// scores; full: the whole layer) in the layers and on the ranks that recompute (core/plan/recompute_rules.h); the
/// weight gradient as much as the forward without the scores (they hold no weights). Scaled so that the layers of an
/// average rank take 1 forward; send is 0.
StageTimes relative_stage_times(const Plan& plan, const std::vector<std::int64_t>& layers);

/// The same for layers_per_stage(plan).
StageTimes relative_stage_times(const Plan& plan);

}  // namespace plimsoll
