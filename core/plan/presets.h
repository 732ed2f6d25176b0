// SPDX-License-Identifier: Apache-2.0
// Model and plan presets: JSON files that a person can read, in presets/models and presets/plans.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

/// Folder that holds `presets/` and `resources/`: $PLIMSOLL_DATA, the installed ../share/plimsoll beside the
/// program, or the source tree.
std::filesystem::path data_folder();

/// Names of the model presets, from small to large within each family ("gpt2", "llama-7b", …).
const std::vector<std::string>& model_preset_names();
/// The preset's model; the error names the nearest preset.
Result<Model> model_preset(const std::string& name);

const std::vector<std::string>& plan_preset_names();
Result<Plan> plan_preset(const std::string& name);

}  // namespace plimsoll
