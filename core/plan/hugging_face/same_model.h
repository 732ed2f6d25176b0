// SPDX-License-Identifier: Apache-2.0
// Whether weights are of the plan's model, by the config.json that lies with them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Error where the model that config.json describes is another than the plan's, in sizes or in what it computes: each
/// difference by name, and the settings of one command line that take the file's values. Where the engine cannot
/// compute that model at all, the sentence says so and why. What belongs to the training alone (dropout, initial
/// weights, weights of side losses) may differ. `who`: "the model in FOLDER (model.weights)".
Result<void> require_same_model(const std::filesystem::path& config, const Plan& plan, const std::string& who);

/// Sentences about a start from weights that works: keys of their config.json that are not known, and numbers that lose
/// digits in the plan's dtype. None where the file cannot be read.
std::vector<std::string> weights_warnings(const std::filesystem::path& config, const Plan& plan);

/// "torch_dtype is float32, and numerics.dtype is bf16: …", or "" where nothing is lost.
std::string dtype_note(const Json& config, const Plan& plan);

}  // namespace plimsoll
