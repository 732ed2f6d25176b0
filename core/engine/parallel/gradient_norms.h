// SPDX-License-Identifier: Apache-2.0
// The size of the gradients, of the whole model and of each layer.
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

namespace plimsoll::engine {

struct GradientNorms {
    double global = 0;  ///< Euclidean, over all parameters, in fp32; NaN or infinite when a gradient is
    std::vector<std::pair<std::string, double>> layers;  ///< "embed", "0" to "L-1", "head"; likewise
};

/// The square of each tensor's Euclidean norm, whatever its dtype: on the CPU taken in fp64, so that no cut of a parameter
/// into shards is seen in fp32; on a GPU taken in fp32, with one transfer from the device.
std::vector<double> squared_norms(const std::vector<torch::Tensor>& gradients);

/// Factor that brings the norm of gradients down to `clip` (torch.nn.utils.clip_grad_norm_'s rule: clip / (norm +
/// 1e-6), never above 1). `clip` 0: no limit.
double clip_factor(double norm, double clip);

}  // namespace plimsoll::engine
