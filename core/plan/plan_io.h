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

/// A plan file's path, or the name of a plan preset ("cpu-demo"), or of a model preset ("llama-7b", then with the
/// default cluster for its size).
Result<LoadedPlan> plan_from_argument(const std::string& path_or_preset);

/// A plan for training the model, on hardware that its states fit on: two CPU ranks for a tiny one, else as many
/// 80 GB cards as ZeRO needs. It is possible (check_plan) for every preset.
Plan starting_plan(const Model& model);

/// The document, on top of plan.source so that unknown keys stay. A preset model writes its preset's name and only
/// the fields that differ from the preset.
Json to_json(const Plan& plan);
Result<void> save_plan(const std::filesystem::path& path, const Plan& plan);

/// "layout.dp=4" style settings, applied in order. A key that is not known is an error with the nearest name.
/// "model.preset=gpt2" takes the whole model from the preset; "model.preset=" keeps the model and forgets its preset.
Result<Plan> with_settings(const Plan& plan, const std::vector<std::string>& settings);

/// JSON Schema (2020-12) of the document, made from the field list.
Json plan_schema();

/// A page of Markdown: every key with type, allowed values, default and meaning (docs/plan.md).
std::string plan_reference();

/// Dotted keys of every field ("layout.dp"), with their help line, in document order.
struct FieldInfo {
    std::string key;
    std::string help;
    std::string type;           ///< "whole number", "number", "text", "true or false", "choice"
    std::string allowed;        ///< "0 to 3", "fp32, bf16, fp16"; empty for text and flags
    std::string default_value;  ///< as JSON
};
std::vector<FieldInfo> plan_fields();

}  // namespace plimsoll
