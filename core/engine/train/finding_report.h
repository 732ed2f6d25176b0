// SPDX-License-Identifier: Apache-2.0
// What a run says of a step that stands out.
#pragma once

#include <optional>

#include "core/engine/train/bad_numbers.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/step_record.h"

namespace plimsoll::engine {

/// Tells the step's finding, of which there is one, and what is done about it. `bad`: where a step's numbers that are
/// not finite came from. `lr_factor`: what the guard multiplies the learning rate with from here on.
Result<void> tell_finding(Reporter& reporter, const StepRecord& step, const std::optional<BadNumbers>& bad,
                          double lr_factor);

/// EventKind::Overflow; `next_scale` is the loss scale from here on.
Result<void> tell_overflow(Reporter& reporter, const StepRecord& step, double next_scale);

}  // namespace plimsoll::engine
