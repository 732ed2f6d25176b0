// SPDX-License-Identifier: Apache-2.0
// Checkpoints: checkpoints/step-00000100/{model.safetensors, optimizer.safetensors, config.json, state.json}; of a run
// that trains adapters {adapter_model.safetensors, adapter_config.json, …}, which PEFT reads.
#pragma once

#include <filesystem>

#include "core/checkpoint/checkpoint_state.h"
#include "core/engine/ranks/gathered_tensors.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// What a checkpoint holds. Tensors are whole and have Hugging Face's names and shapes whatever the layout that trained
/// them, so any other layout can go on from it.
struct CheckpointContents {
    CheckpointState state;
    std::int64_t optimizer_steps = 0;
    NamedTensors weights;
    NamedTensors optimizer;  ///< "exp_avg/NAME" and so on
};

/// Written into a hidden folder beside, fsynced, then renamed: a checkpoint is whole or absent, and one of the same
/// step that was there is replaced in one move. state.json holds size and checksum of the other files and of itself.
/// Afterwards only the newest `keep` (1 at least) of this step and earlier ones remain; later ones, which a run that
/// resumed from before them has yet to reach, are left alone. config.json is Hugging Face's, so that from_pretrained
/// reads the folder. Gives the checkpoint's path. On an error (disk full) the checkpoints that were there stand.
Result<std::filesystem::path> save_checkpoint(const std::filesystem::path& checkpoints,
                                              const CheckpointContents& contents, const Plan& plan, std::int64_t keep);

/// Error when the checkpoint is damaged, or its weights are not as many numbers as the plan trains.
Result<CheckpointContents> read_checkpoint(const std::filesystem::path& checkpoint, const Plan& plan);

}  // namespace plimsoll::engine
