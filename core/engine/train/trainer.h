// SPDX-License-Identifier: Apache-2.0
// One rank's training.
#pragma once

#include <atomic>
#include <filesystem>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/control/fault.h"
#include "core/engine/ranks/rank_info.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct TrainerOptions {
    std::filesystem::path run;  ///< the run folder (layout: core/run/run_folder.h)
    /// Set by SIGTERM: end after this step, with a checkpoint. A sample or a validation that it meets is cut short.
    const std::atomic<bool>* stop = nullptr;
    std::vector<Fault> faults;  ///< put in on purpose
    Seconds timeout = 120;      ///< of a collective: a rank that is silent for longer is given up
};

enum class TrainOutcome { Finished, Stopped };

/// Trains the plan from the newest checkpoint, or from the start. Rank 0 records loss, learning rate, loss scale,
/// gradient norms, tokens/s and events; every rank records its step time and memory.
///
/// A recorded step is the update it made: the checkpoint of step 100 holds what the first 100 updates made, and a run
/// resumed from it records 101 next. Under fp16 an update that is skipped for overflow is recorded as the step it would
/// have been; learning rate and Adam's count wait, the batch is spent.
///
/// The call is the only user of the process: it sets LibTorch's threads and seeds. It throws nothing.
Result<TrainOutcome> train(const Plan& plan, const RankInfo& info, const TrainerOptions& options);

}  // namespace plimsoll::engine
