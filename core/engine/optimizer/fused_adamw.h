// SPDX-License-Identifier: Apache-2.0
// LibTorch's fused AdamW kernel, with results that do not depend on where a tensor is cut.
#pragma once

#include <torch/torch.h>

#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Numbers of one update, flat and of one dtype; all but the gradient are changed in place.
struct AdamWNumbers {
    torch::Tensor w, g, m, v;
};

/// One AdamW update with bias correction for the step count `step` (a scalar tensor on the device of the numbers).
void fused_adamw(const AdamWNumbers& numbers, const torch::Tensor& step, const Optimizer& settings, double lr,
                 double weight_decay);

}  // namespace plimsoll::engine
