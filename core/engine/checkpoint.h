// SPDX-License-Identifier: Apache-2.0
// Checkpoints: checkpoints/step-00000100/{model.safetensors, optimizer.safetensors, config.json, state.json}.
#pragma once

#include <filesystem>
#include <optional>

#include "core/control/loss_scaler.h"
#include "core/engine/adamw.h"
#include "core/engine/decoder.h"

namespace plimsoll::engine {

struct CheckpointState {
    std::int64_t step = 0;             ///< updates made
    std::uint64_t samples = 0;         ///< sequences consumed, over all ranks
    LossScaler::State scaler;
};

/// Written into a hidden folder beside, fsynced, then renamed: a checkpoint is whole or absent. Afterwards only the
/// newest `keep` remain. config.json is Hugging Face's, so that from_pretrained reads the folder.
Result<std::filesystem::path> save_checkpoint(const std::filesystem::path& checkpoints, const Decoder& model,
                                              const AdamW& optimizer, const CheckpointState& state, const Plan& plan,
                                              std::int64_t keep);

/// Newest whole checkpoint, if any; a damaged one is passed over (and named in `skipped`).
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& checkpoints,
                                                       std::vector<std::string>* skipped = nullptr);
/// Restores weights and optimizer in place.
Result<CheckpointState> load_checkpoint(const std::filesystem::path& checkpoint, Decoder& model, AdamW& optimizer);

}  // namespace plimsoll::engine
