// SPDX-License-Identifier: Apache-2.0
// A plan in the words of other tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

struct ExportTarget {
    std::string_view name;       ///< on the command line: "accelerate-fsdp"
    std::string_view title;      ///< for a person: "Accelerate (FSDP)"
    std::string_view file_name;  ///< as a rule: "accelerate_fsdp.yaml"
    std::string_view what;       ///< one line
};

/// Every target, DeepSpeed's JSON first.
const std::vector<ExportTarget>& export_targets();
/// By name; the error names the nearest.
Result<ExportTarget> export_target(std::string_view name);

struct ExportedText {
    std::string text;                ///< the whole file or command line, with a final newline
    std::vector<std::string> notes;  ///< settings that the target cannot express, and where to make them
};

/// Error where the plan is not possible (check_plan), or is of a kind that the target cannot express at all.
Result<ExportedText> export_plan(const Plan& plan, std::string_view target);

}  // namespace plimsoll
