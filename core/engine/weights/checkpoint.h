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

/// The checkpoint is written into a hidden folder beside, fsynced, then renamed: a checkpoint is whole or absent, and
/// an older checkpoint of the same step is replaced in one move. state.json holds size and checksum of the other files
/// and of itself. Of this checkpoint and earlier ones only the newest `keep` (at least 1) remain; checkpoints of later
/// steps, which a resumed run has yet to reach again, are left alone. config.json is Hugging Face's, so that
/// from_pretrained reads the folder. Returns the checkpoint's path. On an error (disk full) the earlier checkpoints
/// stay.
Result<std::filesystem::path> save_checkpoint(const std::filesystem::path& checkpoints,
                                              const CheckpointContents& contents, const Plan& plan, std::int64_t keep);

/// Error when the checkpoint is damaged, its config.json describes another model than the plan's, or its weights are not
/// as many numbers as the plan trains.
Result<CheckpointContents> read_checkpoint(const std::filesystem::path& checkpoint, const Plan& plan);

}  // namespace plimsoll::engine
