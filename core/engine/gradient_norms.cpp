// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient_norms.h"

#include <algorithm>
#include <cmath>

#include "core/engine/decoder.h"

namespace plimsoll::engine {

GradientNorms gradient_norms(const std::vector<std::pair<std::string, torch::Tensor>>& parameters, double inv_scale) {
    torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> gradients;
    std::vector<std::string> layers;
    for (const auto& [name, parameter] : parameters) {
        if (!parameter.grad().defined()) continue;
        gradients.push_back(parameter.grad());
        layers.push_back(Decoder::layer_of(name));
    }
    GradientNorms norms;
    if (gradients.empty()) return norms;
    const auto each = at::_foreach_norm(gradients, 2, c10::kFloat);
    const torch::Tensor host = torch::stack(each).to(torch::kCPU, torch::kFloat64);
    const auto* values = host.const_data_ptr<double>();

    double sum = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const double square = values[i] * values[i] * inv_scale * inv_scale;
        sum += square;
        const auto known = std::find_if(norms.layers.begin(), norms.layers.end(),
                                        [&](const auto& layer) { return layer.first == layers[i]; });
        if (known == norms.layers.end()) {
            norms.layers.emplace_back(layers[i], square);
        } else {
            known->second += square;
        }
    }
    norms.global = std::sqrt(sum);
    for (auto& layer : norms.layers) layer.second = std::sqrt(layer.second);
    return norms;
}

double clip_factor(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace plimsoll::engine
