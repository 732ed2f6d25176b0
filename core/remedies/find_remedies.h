// SPDX-License-Identifier: Apache-2.0
// Changes that make a plan fit.
#pragma once

#include "core/remedies/remedies.h"

namespace plimsoll {

/// All single changes that are legal (check_plan) and save something, and, when the plan does not fit, a set of them
/// that does, found greedily and then thinned out, with changes of the rounding only where nothing else helps.
/// What would take more than 4 TiB of a node's host memory is left out. Every
/// figure comes from estimating the changed plan. `estimate` is the plan's own.
Remedies find_remedies(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
