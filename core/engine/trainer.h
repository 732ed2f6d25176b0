// SPDX-License-Identifier: Apache-2.0
// One rank's training loop.
#pragma once

#include <atomic>
#include <filesystem>

#include "core/base/result.h"
#include "core/engine/collectives.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct TrainerOptions {
    std::filesystem::path run;              ///< the run folder (layout: core/run/run_folder.h)
    const std::atomic<bool>* stop = nullptr;///< set by SIGTERM: end after this step, with a checkpoint
};

enum class TrainOutcome { Finished, Stopped };

/// Trains the plan from the newest checkpoint, or from the start. Rank 0 records loss, learning rate, loss scale,
/// gradient norms, tokens/s and events; every rank records its step time and memory.
Result<TrainOutcome> train(const Plan& plan, const RankInfo& info, const TrainerOptions& options);

}  // namespace plimsoll::engine
