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

/// Error where the plan is not possible (check_plan), or is one that the target cannot express or its tool would refuse.
/// The first note tells where the plan does not fit, or is likely not to, under the program that the export is for.
/// `program`: what a launcher starts in each rank, one of export_programs(); empty: a train.py. An error with a target
/// that is no launcher.
Result<ExportedText> export_plan(const Plan& plan, std::string_view target, std::string_view program = "");

/// Exports whose tool brings a training program that launchers can start.
const std::vector<std::string>& export_programs();
/// Whether the target is a launcher that takes a program.
bool starts_program(std::string_view target);

}  // namespace plimsoll
