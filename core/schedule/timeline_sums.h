// SPDX-License-Identifier: Apache-2.0
// The figures of a timeline from its operations.
#pragma once

#include "core/schedule/simulate.h"

namespace plimsoll {

/// Makespan, busy, idle and bubbles of operations whose times are known: each rank's list in the order of its times,
/// the step begins at 0.
Timeline summed_timeline(std::vector<std::vector<TimedOp>> ranks);

}  // namespace plimsoll
