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

/// Takes the forward of these micro-batches again and names the first layer whose output is not finite: by its own
/// weight where that is bad already. Nothing where all outputs are finite. Every rank calls it alike; the model is as
/// it was at that step.
Result<std::optional<BadNumbers>> find_bad_forward(const Plan& plan, DistributedModel& model, Pipeline& pipeline,
                                                   const std::vector<Batch>& batches);
/// Of the gradients that are not finite the one that the backward pass came to first. Nothing where all are finite.
Result<std::optional<BadNumbers>> find_bad_gradient(const Plan& plan, const DistributedModel& model);

}  // namespace plimsoll::engine
