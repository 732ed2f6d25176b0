// SPDX-License-Identifier: Apache-2.0
// A first plan for a model.
#pragma once

#include "core/plan/plan_io.h"

namespace plimsoll {

/// A plan file's path, or the name of a plan preset ("cpu-demo"), or of a model preset ("llama-7b", then with the
/// default cluster for its size).
Result<LoadedPlan> plan_from_argument(const std::string& path_or_preset);

/// A plan for training the model, on hardware that its states fit on: two CPU ranks for a tiny one, else as many
/// 80 GB cards as ZeRO needs. It is possible (check_plan) for every preset.
Plan starting_plan(const Model& model);

}  // namespace plimsoll
