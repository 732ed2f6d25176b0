// SPDX-License-Identifier: Apache-2.0
// Reasons that keep a run from starting.
#pragma once

#include "core/run/processes/supervisor.h"

namespace plimsoll {

/// Checks, before any process is started, that the plan is possible, this version can train it here, the weights that it
/// starts from are of its model (as far as a config.json tells), the corpus loads, and the checkpoints fit on the disk of `place` (the future run folder). The error is one sentence.
Result<void> check_start(const Plan& plan, const std::filesystem::path& place);

/// Disk space that the run's checkpoints will take at most, beyond the ones in `place` already: old checkpoints go as
/// new ones come.
Bytes checkpoint_room(const Plan& plan, const std::filesystem::path& place);

/// Sentences about a start that works but will disappoint (more threads than cores, a text shorter than a batch, keys of
/// a config.json that the run does not follow).
std::vector<std::string> start_warnings(const Plan& plan);

}  // namespace plimsoll
