// SPDX-License-Identifier: Apache-2.0
// Losses that join a model's own on its way through the layers: they act through the gradient alone, and their values
// are reported.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// A result, and the side losses that were met on the way to it.
struct WithSideLoss {
    torch::Tensor x;
    double side_loss = 0;  ///< weighted as in the gradient, on the host
};

}  // namespace plimsoll::engine
