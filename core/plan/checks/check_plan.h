// SPDX-License-Identifier: Apache-2.0
// Whether a plan is possible.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// One way in which the parts of a plan contradict each other.
struct Problem {
    std::string key;       ///< the field to change, dotted
    std::string sentence;  ///< cause and cure
};

/// Every contradiction of the plan, in reading order; empty when the plan is possible.
std::vector<Problem> check_plan(const Plan& plan);
/// The first problem as an error.
Result<void> require_possible(const Plan& plan);

}  // namespace plimsoll
