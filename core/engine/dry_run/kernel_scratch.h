// SPDX-License-Identifier: Apache-2.0
// What a CPU kernel takes for itself while it runs, asked of the kernel.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <vector>

#include "core/base/units.h"

namespace plimsoll::engine {

/// Half-precision products and attention on CPUs go to oneDNN and to packed kernels, whose working memory depends on
/// the shapes and on the processor by rules of their own. So the kernel runs once for each list of shapes, on tensors
/// that have memory, and is watched: the most it held besides what it gave. 0 where that would take long (more than
/// `operations` of 4e9 multiplications): there it is a small part of a large step. `name` tells kernels apart.
Bytes kernel_scratch(const char* name, const std::vector<torch::Tensor>& inputs, double operations,
                     const std::function<std::vector<torch::Tensor>(const std::vector<torch::Tensor>&)>& kernel);

}  // namespace plimsoll::engine
