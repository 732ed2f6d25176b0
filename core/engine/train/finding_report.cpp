// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/finding_report.h"

#include <string>
#include <utility>

#include "core/telemetry/contract/event_contents.h"

namespace plimsoll::engine {

namespace {

EventKind kind_of(GuardFinding finding) {
    return finding == GuardFinding::Nonfinite   ? EventKind::Nonfinite
           : finding == GuardFinding::LossSpike ? EventKind::LossSpike
                                                : EventKind::Spike;
}

std::string sentence_of(const std::optional<BadNumbers>& bad) {
    if (!bad) return "; every gradient is finite, their norm alone is not";
    const std::string place = bad->layer == "embed"  ? "the embeddings"
                              : bad->layer == "head" ? "the head"
                                                     : fmt::format("layer {}", bad->layer);
    return fmt::format("; the first {} was in {} ({}), in the {} pass", bad->nan ? "NaN" : "infinity", place,
                       bad->tensor, bad->forward ? "forward" : "backward");
}

std::string sentence_of_action(const StepRecord& step, double lr_factor) {
    switch (step.decision.action) {
        case GuardAction::Clip:
            return fmt::format("; the gradients were clipped to {:.4g}.", step.decision.clip_to);
        case GuardAction::CutLr:
            return fmt::format("; the learning rate is {:.3g} of its schedule's from here.", lr_factor);
        case GuardAction::Checkpoint:
            return "; the update was skipped on all ranks, and a checkpoint holds the state before it.";
        case GuardAction::Rollback:
            return "; the run goes back to its last checkpoint.";
        default:
            return step.applied ? "." : "; the update was skipped on all ranks.";
    }
}

}  // namespace

Result<void> tell_finding(Reporter& reporter, const StepRecord& step, const std::optional<BadNumbers>& bad,
                          double lr_factor) {
    const GuardDecision& decision = step.decision;
    FindingEvent event{.reason = decision.reason,
                       .action = std::string(name_of(decision.action)),
                       .loss = step.loss,
                       .grad_norm = step.norms.global,
                       .samples = step.samples,
                       .place = {},
                       .lr_factor = {}};
    if (bad) event.place = FindingEvent::Place{bad->tensor, bad->layer, bad->forward ? "forward" : "backward"};
    if (decision.action == GuardAction::CutLr) event.lr_factor = lr_factor;
    std::string sentence = fmt::format("Step {}: {}", step.number, decision.reason);
    if (decision.finding == GuardFinding::Nonfinite) sentence += sentence_of(bad);
    sentence += sentence_of_action(step, lr_factor);
    return reporter.tell(step.number, kind_of(decision.finding), sentence, event.to_json());
}

Result<void> tell_overflow(Reporter& reporter, const StepRecord& step, double next_scale) {
    return reporter.tell(step.number, EventKind::Overflow,
                         fmt::format("Step {}: the fp16 gradients overflowed at loss scale {:g}; the update was "
                                     "skipped on all ranks, and the scale is now {:g}.",
                                     step.number, step.scale, next_scale),
                         OverflowEvent{step.scale, next_scale}.to_json());
}

}  // namespace plimsoll::engine
