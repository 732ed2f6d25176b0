// SPDX-License-Identifier: Apache-2.0
// fp32 weights that are cast where they are used (numerics.weights autocast).
//
// Each product casts its weight on its way in and gives the cast weight up at once: it is cast again for the backward.
// torch.autocast keeps the cast weights from the forward to the backward, 2 bytes a weight more. Activations, and so
// the residual stream and the norms' outputs, are in the plan's dtype, as under FSDP's mixed precision; torch.autocast
// leaves the residual stream in fp32.
#pragma once

#include <torch/torch.h>

#include "core/plan/plan.h"

namespace plimsoll::engine {

/// LibTorch's name of the plan's dtype.
torch::ScalarType scalar_type(Dtype dtype);

/// The dtype of activations in a model with this weight: the weight's own, but under autocast.
torch::ScalarType activation_dtype(const Plan& plan, const torch::Tensor& weight);

/// A small weight (a bias, a norm) as activations need it. Its gradient arrives in the weight's own dtype.
inline torch::Tensor cast_like(const torch::Tensor& weight, const torch::Tensor& activation) {
    return weight.to(activation.scalar_type());
}

}  // namespace plimsoll::engine
