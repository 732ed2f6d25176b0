// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_deepspeed.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll::deepspeed {

namespace {

/// A share just under a stair is on it.
constexpr double rounding = 1e-9;

std::int64_t warmup_steps(const Warmup& warmup) { return std::max<std::int64_t>(warmup.steps, 2); }

/// Share of the way from min_lr to max_lr during the warmup; `iteration` is below its steps.
double deepspeed_warmup(const Warmup& warmup, std::int64_t iteration) {
    const auto steps = static_cast<double>(warmup_steps(warmup));
    const auto at = static_cast<double>(iteration);
    return warmup.logarithmic ? std::log(at + 1) / std::log(steps) : at / steps;
}

/// Share of the way from min to max in a cycle, at batch `batch` counted from 1.
double cycle_share(const OneCycle& cycle, std::int64_t batch) {
    const auto first = static_cast<double>(cycle.first_step_size);
    const auto second = cycle.second_step_size > 0 ? static_cast<double>(cycle.second_step_size) : first;
    const double total = first + second, ratio = first / total;
    const double turns = static_cast<double>(batch) / total;
    const double x = 1 + turns - std::floor(1 + turns);
    const double share = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
    const auto stairs = static_cast<double>(x <= ratio ? cycle.first_stairs : cycle.second_stairs);
    return stairs > 0 ? std::floor(share * stairs + rounding) / stairs : share;
}

std::int64_t cycle_length(const OneCycle& cycle) {
    return cycle.first_step_size + (cycle.second_step_size > 0 ? cycle.second_step_size : cycle.first_step_size);
}

/// 1 + rate x intervals since the cycle's end.
double decayed(const OneCycle& cycle, double rate, std::int64_t iteration) {
    if (cycle.decay_step_size <= 0) return 1;
    const std::int64_t since = iteration - cycle_length(cycle) + 1;
    return 1 + rate * (static_cast<double>(since) / static_cast<double>(cycle.decay_step_size));
}

}  // namespace

double warmup_lr(const Warmup& warmup, std::int64_t update) {
    const std::int64_t iteration = update - 1;
    if (iteration < 0) return warmup.min_lr;
    const double share = iteration < warmup_steps(warmup) ? deepspeed_warmup(warmup, iteration) : 1;
    return warmup.min_lr + (warmup.max_lr - warmup.min_lr) * share;
}

double warmup_decay_lr(const Warmup& warmup, std::int64_t total_steps, std::int64_t update) {
    const std::int64_t iteration = update - 1, steps = warmup_steps(warmup);
    if (iteration < steps) return warmup_lr(warmup, update);
    const double share = std::max(
        0.0, static_cast<double>(total_steps - iteration) / std::max(1.0, static_cast<double>(total_steps - steps)));
    return warmup.min_lr + (warmup.max_lr - warmup.min_lr) * share;
}

double warmup_cosine_ratio(const Warmup& warmup, std::int64_t total_steps, double cos_min_ratio, std::int64_t update) {
    const std::int64_t iteration = update - 1, steps = warmup_steps(warmup);
    if (iteration < 0) return 0;
    if (iteration < steps) return warmup.min_lr + deepspeed_warmup(warmup, iteration) * (1 - warmup.min_lr);
    const auto all = static_cast<double>(std::max<std::int64_t>(total_steps - steps, 1));
    const double done = std::min(static_cast<double>(iteration - steps + 1), all);
    const double share = (1 + std::cos(std::numbers::pi * done / all)) / 2;
    return std::max(0.0, cos_min_ratio + (1 - cos_min_ratio) * share);
}

double one_cycle_lr(const OneCycle& cycle, std::int64_t update) {
    const std::int64_t iteration = update - 1;
    if (iteration < 0) return cycle.min_lr;
    if (iteration < cycle_length(cycle)) {
        return cycle.min_lr + (cycle.max_lr - cycle.min_lr) * cycle_share(cycle, update);
    }
    return cycle.min_lr / decayed(cycle, cycle.decay_lr_rate, iteration);
}

double one_cycle_momentum(const OneCycle& cycle, std::int64_t update) {
    const std::int64_t iteration = update - 1;
    if (iteration < 0) return cycle.min_momentum;
    if (iteration < cycle_length(cycle)) {
        return cycle.max_momentum - (cycle.max_momentum - cycle.min_momentum) * cycle_share(cycle, update);
    }
    return cycle.max_momentum * decayed(cycle, cycle.decay_mom_rate, iteration);
}

double range_test_lr(double min_lr, std::int64_t step_size, double step_rate, bool staircase, std::int64_t update) {
    double interval = static_cast<double>(update) / static_cast<double>(std::max<std::int64_t>(step_size, 1));
    if (staircase) interval = std::floor(interval);
    return min_lr * (1 + step_rate * interval);
}

}  // namespace plimsoll::deepspeed
