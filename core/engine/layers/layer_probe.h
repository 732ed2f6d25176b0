// SPDX-License-Identifier: Apache-2.0
// A look at the tensors that pass between the layers of a model.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>

namespace plimsoll::engine {

/// Set by the train loop while it searches for the layer where numbers went bad, or corrupts a layer's output on
/// purpose.
struct LayerProbe {
    /// Takes the number of a layer (embedding_layer: the embeddings) and its output; returns the input of the next
    /// layer.
    std::function<torch::Tensor(std::int32_t layer, const torch::Tensor& output)> look;

    torch::Tensor passed(std::int32_t layer, const torch::Tensor& output) const {
        return look ? look(layer, output) : output;
    }
};

}  // namespace plimsoll::engine
