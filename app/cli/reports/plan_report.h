// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/planner/planner.h"

namespace plimsoll::cli {

/// The answer of `plimsoll plan` for a person: ranked table, front, neighbours of the best, recommendations, counts; or
/// what binds and what would cure it.
std::string plan_report(const PlanRequest& request, const PlanResult& result, std::size_t show);

}  // namespace plimsoll::cli
