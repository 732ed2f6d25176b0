// SPDX-License-Identifier: Apache-2.0
// An adapter added to its model, in a process that has LibTorch.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Makes the folder `out` with the plan's model (model.weights, or its initial weights) and the adapter of the folder
/// `adapter` added to it: model.safetensors and config.json, as a checkpoint has them. Error: the worker's sentence;
/// then no folder is left.
Result<void> merge_adapter(const Plan& plan, const std::filesystem::path& adapter, const std::filesystem::path& out);

}  // namespace plimsoll
