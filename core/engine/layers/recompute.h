// SPDX-License-Identifier: Apache-2.0
// Activation recomputation: keep the inputs, run the forward again in the backward pass (Chen 2016).
#pragma once

#include <torch/torch.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/engine/layers/side_loss.h"

namespace plimsoll::engine {

/// Results that a recomputed body keeps from its first run beside its inputs and reads in its second run: expensive to
/// compute, small to hold, in the order of computation.
class Replay {
public:
    /// The first run.
    Replay() = default;
    /// The second run, with the results that the first run kept.
    explicit Replay(std::vector<torch::Tensor> kept) : kept_(std::move(kept)), second_(true) {}

    bool second() const { return second_; }
    /// Keeps a result; for the first run.
    void keep(const torch::Tensor& tensor) { kept_.push_back(tensor); }
    /// The next kept result; for the second run.
    torch::Tensor next() { return kept_.at(next_++); }
    const std::vector<torch::Tensor>& kept() const { return kept_; }

private:
    std::vector<torch::Tensor> kept_;
    std::size_t next_ = 0;
    bool second_ = false;
};

using RecomputedBody = std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)>;
using ReplayedBody = std::function<WithSideLoss(const std::vector<torch::Tensor>& inputs, Replay& replay)>;

/// body(inputs), of which only `inputs` are kept for the backward pass. The backward pass runs the body again with
/// gradients on; parameter gradients are accumulated as in any backward pass, hooks included. The body must own what it
/// captures and must compute the same values again: dropout does so by its key (core/engine/layers/dropout.h).
torch::Tensor recompute(RecomputedBody body, std::vector<torch::Tensor> inputs);

/// The same for a body that also keeps results of its own choice and has side losses. Side losses count once: the first
/// run's are returned. The output of the second run is unread (core/engine/layers/unread_result.h) and may stay
/// uncomputed: only gradients pass through it.
WithSideLoss recompute(ReplayedBody body, std::vector<torch::Tensor> inputs);

}  // namespace plimsoll::engine
