// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints without their tensors: which checkpoints are there, which are whole, and state.json, which
// holds the run's counters and makes damage to any of the files visible.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/control/gradient_guard.h"
#include "core/control/loss_scaler.h"
#include "core/data/data_fingerprint.h"

namespace plimsoll {

inline constexpr const char* state_file = "state.json";
inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";
inline constexpr const char* config_file = "config.json";

struct CheckpointState {
    std::int64_t step = 0;      ///< updates made
    std::uint64_t samples = 0;  ///< sequences consumed, over all ranks
    LossScaler::State scaler;
    GradientGuard::State guard;
    std::set<std::uint64_t> left_out = {};  ///< first sequences of batches that led to a rollback
    std::optional<double> loss = {};        ///< of the last update; older checkpoints lack it
    DataFingerprint data = {};              ///< of what was trained on; not known in older checkpoints
    std::uint64_t weights = 0;              ///< weights_fingerprint() of those beside adapters; 0: none, or not known
    std::int64_t planned_steps = 0;         ///< training.steps at that time; 0 in older checkpoints
};

struct StateDocument {
    CheckpointState state;
    std::int64_t optimizer_steps = 0;
};

/// The steps of all checkpoints in the folder, whole or not, newest first.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& checkpoints);

/// Takes checksums of the named files in `folder` and writes state.json, which vouches for the files, beside them.
Result<void> write_state(const std::filesystem::path& folder, const StateDocument& document,
                         const std::vector<std::string>& files);
/// The document, after every byte of the named files was verified against its checksum; without names all files that
/// the document vouches for are verified, and it has to vouch for one at least. The error says what is damaged.
Result<StateDocument> verified_state(const std::filesystem::path& checkpoint, std::span<const char* const> files = {});

/// The loss of the last update, as state.json says and without a look at the other files; nothing in older checkpoints.
/// An error where state.json is missing or says no step.
Result<std::optional<double>> stated_loss(const std::filesystem::path& checkpoint);

/// The newest checkpoint whose named files are whole, if any. A damaged checkpoint (cut short, a flipped bit, half
/// written) is passed over and named in `skipped` with the reason. Reads every byte of the files of the checkpoint that
/// it gives. `before`: only checkpoints of earlier steps.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& checkpoints,
                                                       std::vector<std::string>* skipped = nullptr,
                                                       std::span<const char* const> files = {},
                                                       std::int64_t before = std::numeric_limits<std::int64_t>::max());

/// The sentence for a run that has checkpoints of which none is whole: what is wrong with them, as newest_checkpoint()
/// found it, and how to begin again.
std::string no_whole_checkpoint(const std::filesystem::path& checkpoints, const std::vector<std::string>& damaged);

}  // namespace plimsoll
