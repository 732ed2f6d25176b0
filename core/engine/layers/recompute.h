// SPDX-License-Identifier: Apache-2.0
// Activation recomputation: keep the inputs, run the forward again in the backward pass (Chen 2016).
#pragma once

#include <torch/torch.h>

#include <functional>
#include <utility>
#include <vector>

#include "core/engine/layers/side_loss.h"

namespace plimsoll::engine {

/// What a recomputed body keeps of its first run beside its inputs, and finds in the second: results that are dear to
/// compute and small to hold, in the order in which they come.
class Replay {
public:
    /// The first run.
    Replay() = default;
    /// The second, with what the first one kept.
    explicit Replay(std::vector<torch::Tensor> kept) : kept_(std::move(kept)), second_(true) {}

    bool second() const { return second_; }
    /// In the first run.
    void keep(const torch::Tensor& tensor) { kept_.push_back(tensor); }
    /// In the second one.
    torch::Tensor next() { return kept_.at(next_++); }
    const std::vector<torch::Tensor>& kept() const { return kept_; }

private:
    std::vector<torch::Tensor> kept_;
    std::size_t next_ = 0;
    bool second_ = false;
};

using RecomputedBody = std::function<torch::Tensor(const std::vector<torch::Tensor>& inputs)>;
using ReplayedBody = std::function<WithSideLoss(const std::vector<torch::Tensor>& inputs, Replay& replay)>;

/// body(inputs), of which only `inputs` are kept for the backward pass. There the body runs again with gradients on:
/// those of the parameters that it uses are accumulated as in any backward pass, hooks included. The body must own
/// what it captures and come to the same values again: dropout does, by its key (core/engine/layers/dropout.h).
torch::Tensor recompute(RecomputedBody body, std::vector<torch::Tensor> inputs);

/// The same of a body that also keeps what it says, and has side losses, which count once: those of the first run. What
/// the second run gives is not read, only gone backwards through: it may be left out
/// (core/engine/layers/unread_result.h).
WithSideLoss recompute(ReplayedBody body, std::vector<torch::Tensor> inputs);

}  // namespace plimsoll::engine
