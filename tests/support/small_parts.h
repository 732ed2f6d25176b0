// SPDX-License-Identifier: Apache-2.0
// Small parameters and gradients for tests of the optimizers.
#pragma once

#include <cmath>

#include "core/engine/optimizer/optimizer.h"

namespace plimsoll::engine {

/// Every kind with the settings that its tests use.
inline std::vector<Optimizer> every_optimizer() {
    std::vector<Optimizer> all;
    for (const OptimizerKind kind : {OptimizerKind::AdamW, OptimizerKind::Lamb, OptimizerKind::Sgd,
                                     OptimizerKind::AdamW8bit, OptimizerKind::Adafactor}) {
        Optimizer settings;
        settings.kind = kind;
        all.push_back(settings);
    }
    return all;
}

inline std::string_view name_of(const Optimizer& settings) { return name_of(settings.kind); }

/// The numbers of optimizer_oracle.py.
inline torch::Tensor wave(at::IntArrayRef shape, double phase) {
    torch::Tensor values = torch::empty({c10::multiply_integers(shape)});
    for (std::int64_t i = 0; i < values.numel(); ++i) {
        values[i] = std::sin(1 + 0.37 * static_cast<double>(i) + phase) * static_cast<double>(1 + i % 3);
    }
    return values.view(shape);
}

inline OptimizedPart whole_part(const std::string& name, const torch::Tensor& parameter) {
    const std::int64_t rows = parameter.size(0);
    return {name, parameter, parameter.dim() >= 2, rows, rows == 0 ? 0 : parameter.numel() / rows};
}

/// A matrix large enough for moments in 8 bits, and a vector.
inline std::vector<OptimizedPart> two_parts(torch::ScalarType dtype = torch::kFloat) {
    torch::manual_seed(3);
    return {whole_part("matrix", torch::randn({70, 67}).to(dtype)), whole_part("norm", torch::randn({67}).to(dtype))};
}

inline std::vector<torch::Tensor> random_gradients(const std::vector<OptimizedPart>& parts, std::int64_t step) {
    torch::manual_seed(static_cast<std::uint64_t>(100 + step));
    std::vector<torch::Tensor> gradients;
    for (const OptimizedPart& part : parts) {
        gradients.push_back(torch::randn(part.parameter.sizes()).to(part.parameter.scalar_type()));
    }
    return gradients;
}

inline std::unique_ptr<ShardedOptimizer> optimizer_of(const std::vector<OptimizedPart>& parts,
                                                      const Optimizer& settings, PartSums* sums = nullptr) {
    return make_optimizer(parts, settings, sums).value();
}

inline std::vector<std::pair<std::string, torch::Tensor>> named_state(const ShardedOptimizer& optimizer) {
    std::vector<std::pair<std::string, torch::Tensor>> named;
    for (const OptimizerState& state : optimizer.state()) named.emplace_back(state.name, state.tensor);
    return named;
}

}  // namespace plimsoll::engine
