// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll {

double learning_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps) {
    step = std::max<std::int64_t>(step, 0);
    if (step < schedule.warmup_steps) {
        return peak * (static_cast<double>(step) + 1) / static_cast<double>(schedule.warmup_steps);
    }
    if (schedule.kind == LrKind::Constant) return peak;

    // The peak is the last update of the warmup; without a warmup it is the first update of all.
    const std::int64_t peak_step = std::max<std::int64_t>(schedule.warmup_steps - 1, 0);
    const std::int64_t last_step = total_steps - 1;
    if (step <= peak_step) return peak;
    if (step >= last_step) return peak * schedule.min_ratio;
    const double progress = static_cast<double>(step - peak_step) / static_cast<double>(last_step - peak_step);
    const double share =
        schedule.kind == LrKind::Linear ? 1 - progress : (1 + std::cos(std::numbers::pi * progress)) / 2;
    return peak * (schedule.min_ratio + (1 - schedule.min_ratio) * share);
}

}  // namespace plimsoll
