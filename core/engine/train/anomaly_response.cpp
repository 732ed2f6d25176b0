// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/anomaly_response.h"

#include <cmath>
#include <utility>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/engine/train/finding_report.h"
#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

/// Steps in a row that may be not finite where no guard leads back.
constexpr std::int64_t most_nonfinite = 3;

}  // namespace

AnomalyResponse::AnomalyResponse(const Plan& plan, Checkpoints& checkpoints, Reporter& reporter,
                                 FindBadNumbers find_bad)
    : plan_(plan),
      checkpoints_(checkpoints),
      reporter_(reporter),
      find_bad_(std::move(find_bad)),
      scaler_(plan.numerics),
      guard_(plan.guard) {}

double AnomalyResponse::rate(std::int64_t updates) const { return learning_rate(plan_, updates) * guard_.lr_factor(); }

std::uint64_t AnomalyResponse::next_batch(std::uint64_t samples) const {
    while (left_out_.contains(samples)) samples += static_cast<std::uint64_t>(plan_.layout.global_batch());
    return samples;
}

void AnomalyResponse::judge(StepRecord& step) {
    const bool finite = std::isfinite(step.norms.global) && std::isfinite(step.loss);
    step.overflow = !finite && plan_.numerics.dtype == Dtype::Fp16;
    // An overflow of scaled gradients is the loss scaler's; a loss that is not finite is more than that.
    if (!step.overflow || !std::isfinite(step.loss)) {
        step.decision = guard_.decide({step.number, step.loss, step.norms.global});
    }
    step.applied = finite && step.decision.apply;
    skipped_in_a_row_ = step.applied ? 0 : skipped_in_a_row_ + 1;
    if (step.decision.action == GuardAction::CutLr) step.lr = rate(step.number - 1);
}

double AnomalyResponse::divisor(const StepRecord& step) {
    static_cast<void>(scaler_.update(false));  // only an overflow can fail
    return scaler_.divisor(step.scale);
}

Result<RunPosition> AnomalyResponse::respond(const StepRecord& step, RunPosition position) {
    if (step.applied) last_loss_ = step.loss;
    if (step.overflow) {
        PLIMSOLL_CHECK(respond_to_overflow(step));
    }
    if (step.decision.finding == GuardFinding::None) return position;
    PLIMSOLL_CHECK(tell(step));
    switch (step.decision.action) {
        case GuardAction::Checkpoint:
            PLIMSOLL_CHECK(checkpoints_.save(state(position)));
            return position;
        case GuardAction::Rollback:
            return roll_back(step, position);
        case GuardAction::Stop:
            return failed(
                "step {} is as bad after {} rollbacks: {}; lower optimizer.lr (now {:g}), lengthen the warmup, or look "
                "at the data from sequence {} on",
                step.number, plan_.guard.max_rollbacks, step.decision.reason, peak_learning_rate(plan_), step.samples);
        default:
            break;
    }
    const bool nonfinite = step.decision.finding == GuardFinding::Nonfinite && !step.overflow;
    if (!nonfinite || guard_.rolls_back() || skipped_in_a_row_ < most_nonfinite) return position;
    return failed(
        "the loss or the gradients were not finite {} times in a row at step {}: lower optimizer.lr (now "
        "{:g}) or lengthen lr.warmup_steps, then start again or resume from the last checkpoint",
        skipped_in_a_row_, step.number, peak_learning_rate(plan_));
}

Result<void> AnomalyResponse::respond_to_overflow(const StepRecord& step) {
    const auto bearable = scaler_.update(true);
    PLIMSOLL_CHECK(tell_overflow(reporter_, step, scaler_.scale()));
    if (!bearable) return bearable;
    if (skipped_in_a_row_ < most_overflows_in_a_row(plan_.numerics)) return {};
    return failed(
        "the fp16 gradients overflowed {} steps in a row at step {}, and nothing was learned in them: "
        "lower numerics.loss_scale (0 adapts it) or optimizer.lr, or use bf16 (numerics.dtype)",
        skipped_in_a_row_, step.number);
}

Result<void> AnomalyResponse::tell(const StepRecord& step) {
    std::optional<BadNumbers> bad;
    if (step.decision.finding == GuardFinding::Nonfinite) {
        PLIMSOLL_TRY(bad, find_bad_(step));
    }
    return tell_finding(reporter_, step, bad, guard_.lr_factor());
}

/// Puts the newest checkpoint aside where it has led here again: what was wrong may lie before it.
Result<std::optional<std::int64_t>> AnomalyResponse::choose_checkpoint() {
    PLIMSOLL_TRY(const auto newest, checkpoints_.choose());
    if (!newest.step || newest.step != rolled_back_to_) return newest.step;
    PLIMSOLL_TRY(const auto earlier, checkpoints_.choose(*newest.step));
    if (!earlier.step) return newest.step;
    PLIMSOLL_CHECK(checkpoints_.leave(*newest.step));
    return earlier.step;
}

/// A fork: what was recorded since the checkpoint stays in the files, and the steps are taken again without the batch.
Result<RunPosition> AnomalyResponse::roll_back(const StepRecord& step, RunPosition position) {
    PLIMSOLL_TRY(rolled_back_to_, choose_checkpoint());
    left_out_.insert(step.samples);
    if (!rolled_back_to_) {
        PLIMSOLL_CHECK(reporter_.tell(
            step.number, EventKind::Rollback,
            fmt::format("Step {}: there is no checkpoint to go back to; the batch was skipped.", step.number)));
        return position;
    }
    const GradientGuard::State before = guard_.state();
    PLIMSOLL_TRY(const auto loaded, checkpoints_.load(*rolled_back_to_));
    const RunPosition back = restore(loaded);
    guard_.go_on_after_rollback(before);
    PLIMSOLL_CHECK(reporter_.tell(
        back.updates, EventKind::Rollback,
        fmt::format(
            "Rolled back from step {} to the checkpoint of step {}; the batch of sequences {} to {} is left out.",
            step.number, back.updates, step.samples,
            step.samples + static_cast<std::uint64_t>(plan_.layout.global_batch()) - 1),
        RollbackEvent{step.number, back.updates, step.samples}.to_json()));
    return back;
}

CheckpointState AnomalyResponse::state(RunPosition position) const {
    return {position.updates, position.samples, scaler_.state(), guard_.state(), left_out_, last_loss_};
}

RunPosition AnomalyResponse::restore(const CheckpointState& state) {
    last_loss_ = state.loss;
    scaler_.restore(state.scaler);
    guard_.restore(state.guard);
    left_out_.insert(state.left_out.begin(), state.left_out.end());
    return {state.step, state.samples};
}

}  // namespace plimsoll::engine
