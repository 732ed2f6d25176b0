// SPDX-License-Identifier: Apache-2.0
// Side losses: losses beside the model's own (routers, the z-loss). They act through the gradient alone; their values
// are reported.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// A tensor and the sum of the side losses that its computation added.
struct WithSideLoss {
    torch::Tensor x;
    double side_loss = 0;  ///< weighted, on the host
};

}  // namespace plimsoll::engine
