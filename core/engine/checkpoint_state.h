// SPDX-License-Identifier: Apache-2.0
// state.json of a checkpoint: the run's counters, and what makes damage to any of the files visible.
#pragma once

#include "core/engine/checkpoint.h"

namespace plimsoll::engine {

inline constexpr const char* state_file = "state.json";
inline constexpr const char* model_file = "model.safetensors";
inline constexpr const char* optimizer_file = "optimizer.safetensors";
inline constexpr const char* config_file = "config.json";

struct StateDocument {
    CheckpointState state;
    std::int64_t optimizer_steps = 0;
};

/// "step-00000100".
std::string checkpoint_name(std::int64_t step);
/// The step in such a name; nothing for any other.
std::optional<std::int64_t> step_of(const std::string& name);

/// Sums up the files in `folder` and writes state.json beside them.
Result<void> write_state(const std::filesystem::path& folder, const StateDocument& document);
/// The document, after every byte of the checkpoint was found to be as written. The error says what is damaged.
Result<StateDocument> verified_state(const std::filesystem::path& checkpoint);

}  // namespace plimsoll::engine
