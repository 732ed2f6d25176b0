// SPDX-License-Identifier: Apache-2.0
#include "core/engine/layers/autocast.h"

namespace plimsoll::engine {

torch::ScalarType scalar_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::Bf16:
            return torch::kBFloat16;
        case Dtype::Fp16:
            return torch::kHalf;
        case Dtype::Fp32:
            break;
    }
    return torch::kFloat;
}

torch::ScalarType activation_dtype(const Plan& plan, const torch::Tensor& weight) {
    const bool casts = plan.numerics.weights == WeightCopies::Autocast;
    return casts ? scalar_type(plan.numerics.dtype) : weight.scalar_type();
}

}  // namespace plimsoll::engine
