// SPDX-License-Identifier: Apache-2.0
// An estimate as JSON.
#pragma once

#include "core/estimate/estimate.h"

namespace plimsoll {

/// The JSON of `plimsoll estimate --json`: model.parameters, per stage every term in bytes with formula and source, the
/// simulated pipeline bubble and its closed form (null where there is none), and what of the plan is counted otherwise.
Json to_json(const MemoryEstimate& estimate, const Plan& plan);

}  // namespace plimsoll
