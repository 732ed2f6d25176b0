// SPDX-License-Identifier: Apache-2.0
// Starts the workers of a run, watches them, and ends them. Used by `plimsoll train` and, in a process of its own
// (`plimsoll supervise RUN`), by the studio: closing the window does not end the run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/run/run_folder.h"

namespace plimsoll {

/// How soon a run is to end. The later ones are more urgent.
enum class StopWish {
    None,
    AfterStep,  ///< the step is finished and saved, however long both take: no work is lost
    Now,        ///< the step is not waited for; a checkpoint that is being written is
    AtOnce,     ///< the ranks are killed, whatever they do
};

struct SupervisorOptions {
    std::filesystem::path worker;  ///< default: $PLIMSOLL_WORKER, or plimsoll-worker beside this program
    Seconds grace = 1.5;           ///< from StopWish::Now to SIGKILL
    Seconds failure_grace = 0.5;   ///< from the first rank that is lost to the end of the others
    Seconds store_timeout = 30;    ///< for the c10d store to print its port
    Seconds rank_timeout = 0;      ///< plimsoll-worker's --timeout; 0: its default
    /// Called at least 20 times a second on the supervising thread (so it must be quick): what Ctrl-C asks for.
    std::function<StopWish()> wants_stop;
};

/// Blocks until the run ends; takes the run's lock (an error when it is live already), hosts the c10d store in a
/// process of its own (`plimsoll-worker --store`), starts one worker a rank with RANK, LOCAL_RANK, WORLD_SIZE,
/// MASTER_ADDR, MASTER_PORT and PLIMSOLL_RUN set, and writes run.json at each change. A worker that dies ends the run:
/// Failed, with the rank (the first one, not those that only lost their peer), its last words and what to do; the
/// result is that state. An error is the reason why the run did not start (check_start()); then run.json says Failed
/// with the same sentence, unless the run is live.
///
/// The run folder's control file asks for a stop as wants_stop does: "stop" (AfterStep) sends SIGTERM, upon which the
/// ranks end after their step with a checkpoint, without a limit of time; "now" kills those that still live after
/// `grace`, unless a checkpoint is being written; "kill" kills at once. A rank that fails while it stops makes the run
/// Failed: its work since the last checkpoint is lost. Every worker is gone when this returns, and if this process is
/// killed the kernel kills them (PR_SET_PDEATHSIG).
Result<RunState> supervise(const RunFolder& run, const SupervisorOptions& options);

/// The program that is started for each rank: `wanted`, or else $PLIMSOLL_WORKER, or plimsoll-worker beside this
/// program. The error says that this build has no engine.
Result<std::filesystem::path> find_worker(const std::filesystem::path& wanted = {});

}  // namespace plimsoll
