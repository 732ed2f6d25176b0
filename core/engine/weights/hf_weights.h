// SPDX-License-Identifier: Apache-2.0
// Weights of a Hugging Face checkpoint, as from_pretrained would find them.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/engine/ranks/gathered_tensors.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Reads a folder with model.safetensors, or with model.safetensors.index.json and the files that the index names; a
/// folder without either is read as any checkpoint of PyTorch or DeepSpeed that open_checkpoint() knows
/// (core/checkpoint). Names may lack the model's prefix ("h.0…" for "transformer.h.0…") as those of base models do;
/// GPT-2's masks and a tied head's copy are left out, and so are stored rotary frequencies that are those of the plan's
/// rope_theta; Mixtral's experts may lie in a tensor each or in one tensor per layer; values are cast to the plan's
/// dtype. Error where the config.json beside the weights describes another model (same_model.h), where the folder, a
/// file or a tensor of the plan's model is missing or has another shape, and where a tensor is no weight of the plan's
/// model; the error says which.
Result<NamedTensors> read_hf_weights(const std::filesystem::path& folder, const Plan& plan);

}  // namespace plimsoll::engine
