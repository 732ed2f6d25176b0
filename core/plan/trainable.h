// SPDX-License-Identifier: Apache-2.0
// What the engine of this version can train: less than what can be estimated and exported.
#pragma once

#include "core/plan/plan.h"

namespace plimsoll {

/// Sentence when the engine of this version cannot train the plan's model and layout (T5, offloading …) on any
/// machines: what is missing and what to set instead.
Result<void> require_trainable(const Plan& plan);

/// The same, and whether this machine alone has what the plan asks for: a run that `plimsoll` itself starts.
Result<void> require_trainable_here(const Plan& plan);

}  // namespace plimsoll
