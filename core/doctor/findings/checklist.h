// SPDX-License-Identifier: Apache-2.0
// Everything that is looked at, line by line.
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
