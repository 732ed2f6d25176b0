// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gradient_norms.h"

#include <algorithm>

#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

std::vector<double> squared_norms(const std::vector<torch::Tensor>& gradients) {
    if (gradients.empty()) return {};
    const torch::NoGradGuard no_grad;
    const torch::Tensor host =
        host_values(torch::stack(at::_foreach_norm(gradients, 2, c10::kFloat))).to(torch::kFloat64).square_();
    const auto* values = host.const_data_ptr<double>();
    return {values, values + host.numel()};
}

double clip_factor(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace plimsoll::engine
