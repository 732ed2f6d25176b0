// SPDX-License-Identifier: Apache-2.0
// The layouts beside the best one.
#pragma once

#include "core/planner/planner.h"

namespace plimsoll {

/// The layouts one step away from `candidate` in each dimension, each with the reason why the search did not take it.
std::vector<Neighbour> neighbours(const PlanRequest& request, const Candidate& candidate);

}  // namespace plimsoll
