// SPDX-License-Identifier: Apache-2.0
// Results of a search as JSON.
#pragma once

#include "core/planner/planner.h"

namespace plimsoll {

Json to_json(const PlanRequest& request, const PlanResult& result);

}  // namespace plimsoll
