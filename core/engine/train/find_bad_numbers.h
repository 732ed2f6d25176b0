// SPDX-License-Identifier: Apache-2.0
// Which tensor of a step was the first that was not finite.
#pragma once

#include <optional>
#include <vector>

#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/train/bad_numbers.h"

namespace plimsoll::engine {

/// Takes the forward of these micro-batches again and names the first layer whose output is not finite: by its own
/// weight where that is bad already. Nothing where all outputs are finite. Every rank calls it alike; the model is as
/// it was at that step.
Result<std::optional<BadNumbers>> find_bad_forward(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const std::vector<Batch>& batches);
/// Of the gradients that are not finite the one that the backward pass came to first. Nothing where all are finite.
Result<std::optional<BadNumbers>> find_bad_gradient(const Plan& plan, const DistributedModel& model);

/// Of the step whose global batch begins at sequence `samples`: in the forward pass where the loss is not finite, else,
/// or where that finds nothing, in the gradients.
Result<std::optional<BadNumbers>> find_bad_numbers(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const BatchSource& source, std::uint64_t samples, double loss);

}  // namespace plimsoll::engine
