// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters in PEFT's files, and models with adapters added to their weights.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/engine/ranks/gathered_tensors.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// The adapters under PEFT's names, which begin with "base_model.model.".
NamedTensors with_peft_names(NamedTensors adapters);
/// The adapters under the engine's own names again.
NamedTensors without_peft_names(NamedTensors adapters);

/// The adapters of a folder with adapter_model.safetensors and adapter_config.json, in the plan's dtype. Error where
/// rank, scale or matrices are not the plan's, or the file holds a tensor that is no adapter of the plan's model; the
/// error says which.
Result<NamedTensors> read_peft_weights(const std::filesystem::path& folder, const Plan& plan);

/// All weights of the plan's model (of model.weights, or its initial ones) with scale B A added to each matrix, added
/// in fp32. Error where the base or an adapter cannot be read.
Result<NamedTensors> merged_weights(const Plan& plan, const NamedTensors& adapters);

/// Makes the folder `out` with model.safetensors and config.json: merged_weights() of the adapter in `folder`. Nothing
/// may be there yet.
Result<void> merge_adapter(const Plan& plan, const std::filesystem::path& folder, const std::filesystem::path& out);

}  // namespace plimsoll::engine
