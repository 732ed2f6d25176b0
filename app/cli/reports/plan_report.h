// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/planner/planner.h"

namespace plimsoll::cli {

/// The answer of `plimsoll plan` for a person: ranked table, front, neighbours of the best, recommendations, counts; or
/// the binding constraint and the changes that would help.
std::string plan_report(const PlanRequest& request, const PlanResult& result, std::size_t show);

}  // namespace plimsoll::cli
