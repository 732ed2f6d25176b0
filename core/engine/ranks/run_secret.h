// SPDX-License-Identifier: Apache-2.0
// The secret by which the ranks of a run know one another (sealed_store.h). No LibTorch here.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll::engine {

/// The variable by which the supervisor, or the person who starts torchrun or srun, hands the secret to the ranks. Only
/// the same user can read the environment of a process.
inline constexpr const char* secret_variable = "PLIMSOLL_SECRET";

/// PLIMSOLL_SECRET; without it the file `secret` in the run folder, which rank 0 makes (readable by its owner alone) and
/// the others wait for, up to `timeout`. Bad input when the file belongs to somebody else or others can read it, or when
/// the ranks share no folder.
Result<std::string> run_secret(const std::filesystem::path& file, int rank, Seconds timeout);

}  // namespace plimsoll::engine
