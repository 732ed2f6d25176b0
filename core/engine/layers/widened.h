// SPDX-License-Identifier: Apache-2.0
// Half precision is computed in fp32.
#pragma once

#include <torch/torch.h>

namespace plimsoll::engine {

/// fp16 and bf16 as fp32; fp32 and fp64 as they are.
inline torch::Tensor widened(const torch::Tensor& x) {
    return x.scalar_type() == torch::kDouble ? x : x.to(torch::kFloat);
}

}  // namespace plimsoll::engine
