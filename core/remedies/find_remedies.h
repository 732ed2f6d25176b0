// SPDX-License-Identifier: Apache-2.0
// Changes that make a plan fit.
#pragma once

#include "core/remedies/remedies.h"

namespace plimsoll {

/// All single changes that are legal (check_plan) and save memory. When the plan does not fit, also a set of changes
/// with which it does, found greedily and then thinned out, with changes of the rounding only where nothing else helps.
/// Changes that need more than 4 TiB of a node's host memory are left out. Every figure comes from estimating the
/// changed plan. `estimate` is the plan's own.
Remedies find_remedies(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
