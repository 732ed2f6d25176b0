// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gradient_norms.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <functional>

#include "core/engine/memory/host_values.h"

namespace plimsoll::engine {

namespace {

template <typename Number>
double sum_of_squares(const Number* numbers, std::int64_t begin, std::int64_t end) {
    std::array<double, 8> lanes{};  // independent, so that the loop is vectorized
    std::int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
        for (std::int64_t j = 0; j < 8; ++j) {
            const auto x = static_cast<double>(numbers[i + j]);
            lanes[static_cast<std::size_t>(j)] += x * x;
        }
    }
    for (; i < end; ++i) lanes[0] += static_cast<double>(numbers[i]) * static_cast<double>(numbers[i]);
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
}

/// Without temporaries: at::linalg_vector_norm would copy the gradient to fp64 first.
double sum_of_squares(const torch::Tensor& gradient) {
    if (gradient.is_meta()) return 0;
    const torch::Tensor flat = gradient.contiguous();
    double sum = 0;
    AT_DISPATCH_FLOATING_TYPES_AND2(torch::kHalf, torch::kBFloat16, flat.scalar_type(), "sum_of_squares", [&] {
        const auto* numbers = flat.const_data_ptr<scalar_t>();
        sum = at::parallel_reduce(
            0, flat.numel(), 1 << 15, 0.0,
            [&](std::int64_t begin, std::int64_t end, double before) {
                return before + sum_of_squares(numbers, begin, end);
            },
            std::plus<>());
    });
    return sum;
}

}  // namespace

std::vector<double> squared_norms(const std::vector<torch::Tensor>& gradients) {
    if (gradients.empty()) return {};
    const torch::NoGradGuard no_grad;
    if (on_cpu(gradients.front())) {
        std::vector<double> squares;
        squares.reserve(gradients.size());
        for (const torch::Tensor& gradient : gradients) squares.push_back(sum_of_squares(gradient));
        return squares;
    }
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
