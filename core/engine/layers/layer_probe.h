// SPDX-License-Identifier: Apache-2.0
// A look at what passes between the layers of a model.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>

namespace plimsoll::engine {

/// Set by the train loop while it looks for the layer where numbers went bad, or spoils one on purpose.
struct LayerProbe {
    /// Gets the number of a layer (embedding_layer: the embeddings) and its output, and gives what the next one takes.
    std::function<torch::Tensor(std::int32_t layer, const torch::Tensor& output)> look;

    torch::Tensor passed(std::int32_t layer, const torch::Tensor& output) const {
        return look ? look(layer, output) : output;
    }
};

}  // namespace plimsoll::engine
