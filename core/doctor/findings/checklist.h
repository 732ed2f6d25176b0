// SPDX-License-Identifier: Apache-2.0
// The lines of the doctor's checklist.
#pragma once

#include <string_view>
#include <vector>

namespace plimsoll::doctor {

struct ChecklistLine {
    std::string_view id, group, question;
    bool of_run = false;  ///< judged from a run's records only
};

/// In order: memory, numbers that go bad, learning, speed, upkeep.
const std::vector<ChecklistLine>& checklist_lines();

}  // namespace plimsoll::doctor
