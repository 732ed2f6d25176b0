// SPDX-License-Identifier: Apache-2.0
// Activation recomputation: keep the inputs, run the forward again in the backward pass (Chen 2016).
#pragma once

#include <torch/torch.h>

#include <functional>

namespace plimsoll::engine {

using RecomputedBody = std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)>;

/// body(inputs), of which only `inputs` are kept for the backward pass. There the body runs again with gradients on:
/// those of the parameters that it uses are accumulated as in any backward pass, hooks included. The body must own
/// what it captures and come to the same values again: dropout does, by its key (core/engine/dropout.h).
torch::Tensor recompute(RecomputedBody body, std::vector<torch::Tensor> inputs);

}  // namespace plimsoll::engine
