// SPDX-License-Identifier: Apache-2.0
// Starts the workers of a run, watches them, and ends them. Used by `plimsoll train` and, in a process of its own
// (`plimsoll supervise RUN`), by the studio: closing the window does not end the run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/run/run_folder.h"

namespace plimsoll {

struct SupervisorOptions {
    std::filesystem::path worker;      ///< plimsoll-worker; default: beside this program
    Seconds grace = 1.5;               ///< from a stop request to SIGKILL
    /// Called a few times a second on the supervising thread; returning true asks for a stop (Ctrl-C in the CLI).
    std::function<bool()> wants_stop;
};

/// Blocks until the run ends; takes the run's lock (an error when it is live already), hosts the c10d store in a
/// process of its own (`plimsoll-worker --store`), starts one worker a rank with RANK, LOCAL_RANK, WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT and PLIMSOLL_RUN set, and writes run.json at each change.
/// A worker that dies ends the run: Failed, with the rank, its last words and what to do.
/// Stop ladder: "stop" sends SIGTERM (the worker ends after its current step with a checkpoint); what still lives
/// after `grace` is killed. Every worker is gone when this returns.
Result<RunState> supervise(const RunFolder& run, const SupervisorOptions& options);

/// Starts `plimsoll supervise RUN` in its own session and returns at once. `program` is the plimsoll binary.
Result<void> start_detached(const RunFolder& run, const std::filesystem::path& program);

/// The folder of the running program (to find plimsoll and plimsoll-worker beside it).
std::filesystem::path program_folder();

/// Sentence when the engine of this version cannot train the plan (tp, pp, ZeRO, T5, MoE …), though estimate and
/// export can use it: what is missing and what to set instead.
Result<void> require_trainable(const Plan& plan);

}  // namespace plimsoll
