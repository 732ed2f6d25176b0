// SPDX-License-Identifier: Apache-2.0
// What a search recommends.
#pragma once

#include "core/planner/planner.h"

namespace plimsoll {

std::vector<Recommendation> recommendations(const PlanRequest& request, const PlanResult& result);

}  // namespace plimsoll
