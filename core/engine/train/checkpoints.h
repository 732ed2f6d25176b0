// SPDX-License-Identifier: Apache-2.0
// The checkpoints of a run: which one it goes on from, and which ones it leaves behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/train/rank_agreement.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/run_inputs.h"
#include "core/engine/train/trained_model.h"
#include "core/engine/weights/checkpoint.h"
#include "core/plan/plan.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::engine {

/// Rank 0 writes, chooses and puts aside; every rank reads. Every rank makes the same calls in the same order.
class Checkpoints {
public:
    /// In RUN/checkpoints. What it is given has to outlive it.
    Checkpoints(const Plan& plan, const std::filesystem::path& run, TrainedModel& model, RankAgreement& ranks,
                Reporter& reporter);

    /// What the run trains on, which its checkpoints say.
    void of_inputs(const RunInputs& inputs) { inputs_ = inputs; }

    struct Choice {
        std::optional<std::int64_t> step;  ///< of the newest whole one, on all ranks the same
        bool all_damaged = false;          ///< there are some and none is whole; on all ranks the same
        std::vector<std::string> damaged;  ///< those passed over, with the reason; on rank 0
    };
    /// `before`: only of earlier steps.
    Result<Choice> choose(std::int64_t before = std::numeric_limits<std::int64_t>::max());
    /// For a run that has checkpoints of which none is whole.
    Error no_whole_one(const Choice& choice) const;
    /// Into the model; gives the run's own state. Error, with nothing in the model, where the run would go on with other
    /// inputs than the checkpoint was made with, or is to end before it.
    Result<CheckpointState> load(std::int64_t step);
    /// Of the model and the run as they are after state.step updates; nothing where the newest one is of that step
    /// already. Only the newest training.keep_checkpoints remain. Each rank's record declares its series again.
    Result<void> save(const CheckpointState& state);
    /// Under the name left-step-…: a checkpoint of a branch that is left, which a run that resumes must not take up.
    Result<void> leave(std::int64_t step);

private:
    Result<void> require_goes_on(const CheckpointState& state) const;

    const Plan& plan_;
    RunLayout layout_;
    TrainedModel& model_;
    RankAgreement& ranks_;
    Reporter& reporter_;
    RunInputs inputs_;
    std::int64_t newest_ = -1;  ///< step of the one that this process wrote or loaded last
};

}  // namespace plimsoll::engine
