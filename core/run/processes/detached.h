// SPDX-License-Identifier: Apache-2.0
// A supervisor that outlives its parent.
#pragma once

#include "core/run/processes/supervisor.h"

namespace plimsoll {

/// Starts `plimsoll supervise RUN` in its own session and returns at once; its output goes to logs/supervisor.log.
/// `program` is the plimsoll binary, `rank_timeout` as in SupervisorOptions. On an error run.json says Failed with the
/// same sentence.
Result<void> start_detached(const RunFolder& run, const std::filesystem::path& program, Seconds rank_timeout = 0);

/// The folder of the running program (to find plimsoll and plimsoll-worker beside it).
std::filesystem::path program_folder();

}  // namespace plimsoll
