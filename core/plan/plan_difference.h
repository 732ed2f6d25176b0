// SPDX-License-Identifier: Apache-2.0
// In which fields two plans differ.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

struct FieldDifference {
    std::string key;            ///< "layout.dp"
    std::string before, after;  ///< as JSON, cut at 40 characters
    bool may_change_on_resume = false;
    std::string resume_reason;  ///< why, or why not; goes on behind "since"
};

/// In document order; empty where the plans are equal.
std::vector<FieldDifference> differences(const Plan& before, const Plan& after);

}  // namespace plimsoll
