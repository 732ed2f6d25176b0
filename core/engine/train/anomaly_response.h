// SPDX-License-Identifier: Apache-2.0
// What a run does about a step that stands out: it judges each one, and answers by skipping, clipping, a lower rate, a
// checkpoint, or a rollback. Loss scale, guard, and the batches that are left out are its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>

#include "core/control/gradient_guard.h"
#include "core/control/loss_scaler.h"
#include "core/engine/train/bad_numbers.h"
#include "core/engine/train/checkpoints.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/step_record.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Looks for the first numbers of a step that were not finite, while the model is as it was at that step.
using FindBadNumbers = std::function<Result<std::optional<BadNumbers>>(const StepRecord&)>;

/// Decides from numbers that all ranks have alike. Every rank makes the same calls in the same order.
class AnomalyResponse {
public:
    /// What it is given has to outlive it.
    AnomalyResponse(const Plan& plan, Checkpoints& checkpoints, Reporter& reporter, FindBadNumbers find_bad);

    /// Of the step that comes: what its loss is multiplied with, and its learning rate after so many updates.
    double scale() const { return scaler_.scale(); }
    double rate(std::int64_t updates) const;
    /// Where the batch of the step begins that would begin at `samples`: behind those that are left out.
    std::uint64_t next_batch(std::uint64_t samples) const;

    /// By the step's loss and norms: whether its update is made, and how.
    void judge(StepRecord& step);
    /// Of a step that is applied, once, before its update: what its gradients are divided by.
    double divisor(const StepRecord& step);
    /// Tells what was found and answers it. `position` is where the run is after the step; gives where it goes on. An
    /// error ends the run: nothing more is to be learned.
    Result<RunPosition> respond(const StepRecord& step, RunPosition position);

    /// What a checkpoint holds of the run there.
    CheckpointState state(RunPosition position) const;
    /// Goes on from a checkpoint; gives where. Batches that are left out already stay so.
    RunPosition restore(const CheckpointState& state);
    /// Of the last update; nothing before the first.
    std::optional<double> last_loss() const { return last_loss_; }
    /// Whether the ladder leads back to a checkpoint.
    bool rolls_back() const { return guard_.rolls_back(); }

private:
    Result<void> respond_to_overflow(const StepRecord& step);
    Result<void> tell(const StepRecord& step);
    Result<RunPosition> roll_back(const StepRecord& step, RunPosition position);
    Result<std::optional<std::int64_t>> choose_checkpoint();

    const Plan& plan_;
    Checkpoints& checkpoints_;
    Reporter& reporter_;
    FindBadNumbers find_bad_;
    LossScaler scaler_;
    GradientGuard guard_;
    std::set<std::uint64_t> left_out_;  ///< first sequences of batches that led to a rollback
    std::optional<double> last_loss_;
    std::int64_t skipped_in_a_row_ = 0;
    std::optional<std::int64_t> rolled_back_to_;  ///< checkpoint of the last rollback
};

}  // namespace plimsoll::engine
