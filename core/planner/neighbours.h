// SPDX-License-Identifier: Apache-2.0
// The layouts beside the best one.
#pragma once

#include "core/planner/planner.h"

namespace plimsoll {

/// One step away from `candidate` in each dimension, with the reason why it was not taken.
std::vector<Neighbour> neighbours(const PlanRequest& request, const Candidate& candidate);

}  // namespace plimsoll
