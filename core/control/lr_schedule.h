// SPDX-License-Identifier: Apache-2.0
// Learning rate by optimizer step.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll {

/// Rate used by optimizer update `step` (0 is the first of `total_steps`). Warmup: peak x (step + 1) / warmup, so that
/// the first update already learns; then constant, or linear or half-cosine down to min_ratio x peak at the last
/// update.
double learning_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps);

}  // namespace plimsoll
