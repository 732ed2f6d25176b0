// SPDX-License-Identifier: Apache-2.0
// What would keep a run from starting.
#pragma once

#include "core/run/supervisor.h"

namespace plimsoll {

/// What can be told before any process is started, as one sentence: the plan is possible, this version can train it
/// here, the corpus loads, and the checkpoints fit on the disk that `place` (the run folder to be) is on.
Result<void> check_start(const Plan& plan, const std::filesystem::path& place);

/// What the run's checkpoints will take on the disk at most, beyond those that are in `place` already: old ones go as
/// new ones come.
Bytes checkpoint_room(const Plan& plan, const std::filesystem::path& place);

/// Sentences about a start that works but will disappoint (more threads than cores).
std::vector<std::string> start_warnings(const Plan& plan);

}  // namespace plimsoll
