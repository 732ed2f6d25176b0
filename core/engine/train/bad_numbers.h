// SPDX-License-Identifier: Apache-2.0
// Which tensor of a step was the first that was not finite.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"

namespace plimsoll::engine {

struct BadNumbers {
    std::string tensor;  ///< a parameter by Hugging Face's name, or "the output of layer 3"
    std::string layer;   ///< "embed", "0" to "L-1", "head"
    bool forward = false;
    bool nan = false;  ///< else infinite
};

/// Runs the forward pass of these micro-batches again and names the first layer whose output is not finite, or a weight
/// of that layer that is not finite itself. Nothing when all outputs are finite. Every rank has to make the same call;
/// the model must be unchanged since that step.
Result<std::optional<BadNumbers>> find_bad_forward(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const std::vector<Batch>& batches);
/// The gradient that is not finite and that the backward pass reached first. Nothing where all are finite.
Result<std::optional<BadNumbers>> find_bad_gradient(const Plan& plan, const DistributedModel& model);

}  // namespace plimsoll::engine
