// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/error_model.h"

#include <array>
#include <cmath>

namespace plimsoll {
namespace {

constexpr std::array probabilities{0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975};

struct ErrorModel {
    std::array<double, probabilities.size()> ratio;  ///< quantiles of measured ÷ estimated
    int samples;
};

// From `plimsoll validate memory --quantiles` over Megatron-LM's golden peaks and over the published peaks; the
// engine's own from `plimsoll validate memory --engine --json`. Megatron-LM's outer two quantiles are a little wider
// than the rows', to cover plans that are not among the rows.
constexpr ErrorModel megatron{{0.955, 0.988, 0.995, 0.998, 1.003, 1.017, 1.040, 1.051, 1.080}, 267};
constexpr ErrorModel torchtitan{{0.807, 0.856, 0.892, 0.977, 1.003, 1.041, 1.072, 1.216, 1.265}, 55};
constexpr ErrorModel hf_trainer{{0.643, 0.714, 0.858, 0.986, 0.998, 1.030, 1.095, 1.161, 1.194}, 8};
constexpr ErrorModel engine_on_cpu{{0.9911, 0.9912, 0.9949, 0.9997, 0.9998, 1.0002, 1.0012, 1.0052, 1.0054}, 72};

const ErrorModel& model_of(Framework framework, bool on_gpu) {
    if (!on_gpu) return engine_on_cpu;
    switch (framework) {
        case Framework::Megatron:
            return megatron;
        case Framework::HfTrainer:
            return hf_trainer;
        default:
            return torchtitan;
    }
}

double quantile_of(const ErrorModel& model, double log_ratio) {
    const auto& r = model.ratio;
    const auto n = r.size();
    std::size_t i = 1;
    while (i + 1 < n && log_ratio > std::log(r[i])) ++i;
    const double from = std::log(r[i - 1]), to = std::log(r[i]);
    // Tails: the logarithm of the remaining share falls linearly with the distance, at the slope of the outer two
    // quantiles.
    if (log_ratio < std::log(r.front()))
        return probabilities[0] *
               std::pow(probabilities[0] / probabilities[1], (std::log(r[0]) - log_ratio) / (std::log(r[1] / r[0])));
    if (log_ratio > std::log(r.back())) {
        const double step = std::log(r[n - 1] / r[n - 2]);
        return 1 - (1 - probabilities[n - 1]) * std::pow((1 - probabilities[n - 1]) / (1 - probabilities[n - 2]),
                                                         (log_ratio - std::log(r[n - 1])) / step);
    }
    return probabilities[i - 1] + (probabilities[i] - probabilities[i - 1]) * (log_ratio - from) / (to - from);
}

}  // namespace

Interval interval_of(Framework framework, Bytes estimate, bool on_gpu) {
    const auto& model = model_of(framework, on_gpu);
    const auto times = [&](double ratio) {
        return static_cast<Bytes>(std::llround(ratio * static_cast<double>(estimate)));
    };
    return {times(model.ratio.front()), times(model.ratio.back())};
}

double out_of_memory_probability(Framework framework, Bytes estimate, Bytes usable, bool on_gpu) {
    if (estimate <= 0) return 0;
    if (usable <= 0) return 1;
    return 1 - quantile_of(model_of(framework, on_gpu),
                           std::log(static_cast<double>(usable) / static_cast<double>(estimate)));
}

int samples_of(Framework framework, bool on_gpu) { return model_of(framework, on_gpu).samples; }

}  // namespace plimsoll
