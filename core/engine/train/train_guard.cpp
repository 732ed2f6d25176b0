// SPDX-License-Identifier: Apache-2.0
// What a training run does about a step that stands out: tells why, and what its guard decided.
#include <cmath>
#include <filesystem>
#include <system_error>

#include "core/base/json.h"
#include "core/engine/train/bad_numbers.h"
#include "core/engine/train/train_loop.h"

namespace plimsoll::engine {

namespace {

/// Steps in a row that may be not finite where no guard leads back.
constexpr std::int64_t most_nonfinite = 3;

const char* kind_of(GuardFinding finding) {
    return finding == GuardFinding::Nonfinite   ? "nonfinite"
           : finding == GuardFinding::LossSpike ? "loss_spike"
                                                : "spike";
}

std::string action_name(GuardAction action) { return std::string(name_of(action)); }

}  // namespace

/// Decided from numbers that all ranks have alike.
void TrainLoop::judge(Step& step) {
    const bool finite = std::isfinite(step.norms.global) && std::isfinite(step.loss);
    step.overflow = !finite && plan_.numerics.dtype == Dtype::Fp16;
    // An overflow of scaled gradients is the loss scaler's; a loss that is not finite is more than that.
    if (!step.overflow || !std::isfinite(step.loss)) {
        step.decision = guard_.decide({updates_ + 1, step.loss, step.norms.global});
    }
    step.applied = finite && step.decision.apply;
    if (step.decision.action == GuardAction::CutLr) {
        step.lr = learning_rate(plan_, updates_) * guard_.lr_factor();
    }
}

Result<void> TrainLoop::respond(const Step& step) {
    if (step.overflow) {
        if (auto told = judge_overflow(step); !told) return told;
    }
    if (step.decision.finding == GuardFinding::None) return {};
    if (auto told = tell_finding(step); !told) return told;
    switch (step.decision.action) {
        case GuardAction::Checkpoint:
            return save();
        case GuardAction::Rollback:
            return roll_back(step);
        case GuardAction::Stop:
            return failed(
                "step {} is as bad after {} rollbacks: {}; lower optimizer.lr (now {:g}), lengthen the warmup, or look "
                "at the data from sequence {} on",
                step.number, plan_.guard.max_rollbacks, step.decision.reason, peak_learning_rate(plan_), step.samples);
        default:
            break;
    }
    const bool nonfinite = step.decision.finding == GuardFinding::Nonfinite && !step.overflow;
    if (!nonfinite || guard_.rolls_back() || skipped_in_a_row_ < most_nonfinite) return {};
    return failed(
        "the loss or the gradients were not finite {} times in a row at step {}: lower optimizer.lr (now "
        "{:g}) or lengthen lr.warmup_steps, then start again or resume from the last checkpoint",
        skipped_in_a_row_, step.number, peak_learning_rate(plan_));
}

Result<void> TrainLoop::judge_overflow(const Step& step) {
    const auto bearable = scaler_.update(true);
    auto told = tell_at(step.number, "overflow",
                        fmt::format("Step {}: the fp16 gradients overflowed at loss scale {:g}; the update was "
                                    "skipped on all ranks, and the scale is now {:g}.",
                                    step.number, step.scale, scaler_.scale()),
                        {{"scale", step.scale}, {"next_scale", scaler_.scale()}});
    if (!told) return told;
    if (!bearable) return bearable;
    if (skipped_in_a_row_ < most_overflows_in_a_row(plan_.numerics)) return {};
    return failed(
        "the fp16 gradients overflowed {} steps in a row at step {}, and nothing was learned in them: "
        "lower numerics.loss_scale (0 adapts it) or optimizer.lr, or use bf16 (numerics.dtype)",
        skipped_in_a_row_, step.number);
}

/// "; the first bad tensor is … of layer 3, in the backward pass".
Result<std::string> TrainLoop::first_bad(const Step& step, Json& details) {
    std::optional<BadNumbers> bad;
    if (!std::isfinite(step.loss)) {
        std::vector<Batch> batches;
        for (std::int64_t k = 0; k < plan_.layout.accumulation; ++k) {
            batches.push_back(batches_.micro_batch(step.samples, k));
        }
        PLIMSOLL_TRY(auto found, find_bad_forward(plan_, model_, pipeline_, batches));
        bad = std::move(found);
    }
    if (!bad) {
        PLIMSOLL_TRY(auto found, find_bad_gradient(plan_, model_));
        bad = std::move(found);
    }
    if (!bad) return std::string("; every gradient is finite, their norm alone is not");
    details["tensor"] = bad->tensor;
    details["layer"] = bad->layer;
    details["pass"] = bad->forward ? "forward" : "backward";
    const std::string place = bad->layer == "embed"  ? "the embeddings"
                              : bad->layer == "head" ? "the head"
                                                     : fmt::format("layer {}", bad->layer);
    return fmt::format("; the first {} was in {} ({}), in the {} pass", bad->nan ? "NaN" : "infinity", place,
                       bad->tensor, bad->forward ? "forward" : "backward");
}

Result<void> TrainLoop::tell_finding(const Step& step) {
    const GuardDecision& decision = step.decision;
    Json details = {{"reason", decision.reason},
                    {"action", action_name(decision.action)},
                    {"loss", step.loss},
                    {"grad_norm", step.norms.global},
                    {"samples", step.samples}};
    std::string sentence = fmt::format("Step {}: {}", step.number, decision.reason);
    if (decision.finding == GuardFinding::Nonfinite) {
        PLIMSOLL_TRY(auto bad, first_bad(step, details));
        sentence += bad;
    }
    switch (decision.action) {
        case GuardAction::Clip:
            sentence += fmt::format("; the gradients were clipped to {:.4g}.", decision.clip_to);
            break;
        case GuardAction::CutLr:
            details["lr_factor"] = guard_.lr_factor();
            sentence += fmt::format("; the learning rate is {:.3g} of its schedule's from here.", guard_.lr_factor());
            break;
        case GuardAction::Checkpoint:
            sentence += "; the update was skipped on all ranks, and a checkpoint holds the state before it.";
            break;
        case GuardAction::Rollback:
            sentence += "; the run goes back to its last checkpoint.";
            break;
        default:
            sentence += step.applied ? "." : "; the update was skipped on all ranks.";
            break;
    }
    return tell_at(step.number, kind_of(decision.finding), sentence, std::move(details));
}

/// A fork: what was recorded since the checkpoint stays in the files, and the steps are taken again without the batch.
Result<void> TrainLoop::roll_back(const Step& step) {
    std::vector<std::string> damaged;
    auto chosen = choose_checkpoint(damaged);
    // The newest one has led here again: what was wrong may lie before it.
    if (chosen && *chosen >= 0 && *chosen == rolled_back_to_) {
        PLIMSOLL_TRY(const auto earlier, choose_checkpoint(damaged, *chosen));
        if (earlier >= 0) {
            if (auto left = leave_checkpoint(*chosen); !left) return left;
            chosen = earlier;
        }
    }
    if (!chosen) return tl::unexpected(chosen.error());
    rolled_back_to_ = *chosen;
    left_out_.insert(step.samples);
    const std::int64_t from = step.number;
    if (*chosen < 0) {
        return tell_at(from, "rollback",
                       fmt::format("Step {}: there is no checkpoint to go back to; the batch was skipped.", from));
    }
    const GradientGuard::State before = guard_.state();
    if (auto loaded = load(*chosen); !loaded) return loaded;
    guard_.go_on_after_rollback(before);
    return tell(
        "rollback",
        fmt::format(
            "Rolled back from step {} to the checkpoint of step {}; the batch of sequences {} to {} is left out.", from,
            updates_, step.samples, step.samples + static_cast<std::uint64_t>(plan_.layout.global_batch()) - 1),
        {{"from", from}, {"to", updates_}, {"samples", step.samples}});
}

/// It belongs to the branch that is left: a run that resumes must not take it up.
Result<void> TrainLoop::leave_checkpoint(std::int64_t step) {
    return on_first_rank("put a checkpoint aside", [&]() -> Result<void> {
        const std::filesystem::path from = options_.run / "checkpoints" / checkpoint_name(step);
        const std::filesystem::path to = options_.run / "checkpoints" / ("left-" + checkpoint_name(step));
        std::error_code error;
        std::filesystem::remove_all(to, error);
        std::filesystem::rename(from, to, error);
        if (error) return failed("cannot put {} aside: {}", from.string(), error.message());
        return {};
    });
}

void TrainLoop::pass_over_left_out() {
    while (left_out_.contains(samples_)) samples_ += static_cast<std::uint64_t>(plan_.layout.global_batch());
}

}  // namespace plimsoll::engine
