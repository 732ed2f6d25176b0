// SPDX-License-Identifier: Apache-2.0
// Reading and writing plan documents.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/plan/plan.h"

namespace plimsoll {

inline constexpr int plan_version = 1;

struct LoadedPlan {
    Plan plan;
    std::vector<std::string> notes;  ///< sentences about keys that are not known (kept, not used)
};

/// Reads a document: { "plimsoll": 1, "model": {...}, ... }. Missing keys take their defaults (of the preset, for the
/// model). Errors name the key, what was found and what is allowed. Does not judge whether the plan is possible:
/// check_plan() does.
Result<LoadedPlan> plan_from_json(const Json& json, const std::string& what);
Result<LoadedPlan> load_plan(const std::filesystem::path& path);

/// The document, on top of plan.source so that unknown keys stay. A preset model writes its preset's name and only
/// the fields that differ from the preset.
Json to_json(const Plan& plan);
Result<void> save_plan(const std::filesystem::path& path, const Plan& plan);

/// Dotted keys of every field ("layout.dp"), with their help line, in document order.
struct FieldInfo {
    std::string key;
    std::string help;
    std::string type;           ///< "whole number", "number", "text", "true or false", "choice"
    std::string allowed;        ///< "0 to 3", "fp32, bf16, fp16"; empty for text and flags
    std::string default_value;  ///< as JSON
    bool may_change_on_resume = false;
    std::string resume_reason;  ///< goes on behind "since"
};

}  // namespace plimsoll
