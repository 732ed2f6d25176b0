// SPDX-License-Identifier: Apache-2.0
// Numbers that went bad in a run: NaN, overflow, the loss scale, the first loss.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/control/gradient_guard.h"
#include "core/doctor/plan_checks/plan_checks.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"

namespace plimsoll::doctor {

namespace {

constexpr std::uint64_t scale_settles = 20;  ///< updates in which a scale that starts high comes down
/// DeepSpeed's window grows the scale once in 1000 clean steps and PyTorch's once in 2000, so one step in 1000 may be
/// lost for good reason; ten times as many are a storm.
constexpr double storm_share = 0.01;
constexpr std::size_t storm_least = 5;
constexpr std::size_t stuck_for = 20;
/// A guess among V tokens has a loss of ln V; init_std 0.02 stays within some tenths of it.
constexpr double bad_start = 1;

std::string place_words(const FindingEvent::Place& place) {
    const std::string& layer = place.layer;
    const std::string where = layer == "embed" ? "the embeddings" : layer == "head" ? "the head" : "layer " + layer;
    return fmt::format("the first bad numbers were in {} ({}), in the {} pass", where, place.tensor, place.pass);
}

OverflowEvent scale_of(const Event& event) { return OverflowEvent::from_json(event.details).value_or(OverflowEvent{}); }

std::vector<FindingChange> cures(const Plan& plan) {
    std::vector<FindingChange> changes = calming_changes(plan);
    if (plan.numerics.dtype == Dtype::Fp16)
        changes.insert(changes.begin(), {{"numerics.dtype=bf16", "numerics.loss_scale=0"},
                                         "bf16 has fp32's range: what is above 65,504 stays a number"});
    if (!plan.guard.rollback)
        changes.push_back(
            {{"guard.rollback=true", "guard.every=1",
              fmt::format("training.checkpoint_every={}", plan.training.checkpoint_every > 0
                                                              ? plan.training.checkpoint_every
                                                              : std::max<std::int64_t>(plan.training.steps / 20, 1))},
             "the run goes back to its last checkpoint and leaves the batch out"});
    return changes;
}

void check_nonfinite(const RunFacts& run, Sheet& sheet) {
    const auto events = run.events(EventKind::Nonfinite);
    const bool ended = run.failed_with({"were not finite", "not finite"});
    const Pyramid* loss = run.store().find(series::loss);
    if (events.empty() && !ended) {
        if (loss == nullptr || loss->size() == 0) return sheet.unknown("nonfinite", "no step was recorded");
        return sheet.fine("nonfinite", fmt::format("over {}", steps_count(loss->size())));
    }
    Finding finding{ended ? "nan-loss" : "nonfinite-steps",
                    ended ? Severity::Error : Severity::Warning,
                    "nonfinite",
                    "",
                    {},
                    cures(run.plan),
                    "the guard's events"};
    if (events.empty()) {
        finding.title = "The run ended on a loss or gradients that were not finite.";
        finding.evidence.push_back(run.state.reason);
    } else {
        const Event& first = *events.front();
        const auto finding_event = FindingEvent::from_json(first.details).value_or(FindingEvent{});
        const auto &value = finding_event.loss, &norm = finding_event.grad_norm;
        const bool loss_bad = !value || !std::isfinite(*value);
        finding.title = fmt::format("{} not finite at step {}{}.", loss_bad ? "The loss was" : "Gradients were",
                                    first.step, ended ? ", and the run ended by it" : "");
        std::string words =
            fmt::format("Step {}: loss {}, gradient norm {}", first.step, value ? fmt::format("{:g}", *value) : "NaN",
                        norm ? fmt::format("{:g}", *norm) : "NaN");
        if (finding_event.place) words += "; " + place_words(*finding_event.place);
        finding.evidence.push_back(words + ".");
        if (events.size() > 1)
            finding.evidence.push_back(fmt::format("In all {} of them: {}.", events.size(), steps_words(events)));
        if (!ended) finding.evidence.push_back("These updates were left out on all ranks, and the run went on.");
    }
    sheet.found(std::move(finding));
}

/// A batch is to blame where the steps around a bad one are good.
void check_bad_data(const RunFacts& run, Sheet& sheet) {
    std::vector<const Event*> bad;
    std::vector<std::uint64_t> begins;  // where the batch of each begins
    for (const EventKind kind : {EventKind::Nonfinite, EventKind::LossSpike, EventKind::Spike})
        for (const Event* event : run.events(kind)) {
            const auto found = FindingEvent::from_json(event->details);
            if (!found || !found->samples) continue;
            if (kind == EventKind::Spike && found->action != name_of(GuardAction::Rollback)) continue;
            bad.push_back(event);
            begins.push_back(*found->samples);
        }
    if (bad.empty()) {
        if (run.curve(series::loss).size() == 0) return sheet.unknown("bad-data", "no step was recorded");
        return sheet.fine("bad-data", "no batch made a loss stand out or led to a rollback");
    }
    const std::set<std::uint64_t> batches(begins.begin(), begins.end());
    const std::uint64_t from = begins.front();
    const auto batch = static_cast<std::uint64_t>(run.plan.layout.global_batch());
    const bool again = batches.size() < bad.size();
    sheet.found({"bad-batches",
                 Severity::Advice,
                 "bad-data",
                 fmt::format("{} {} a step go bad: sequences {} to {} {}.", batches.size(),
                             batches.size() == 1 ? "batch made" : "batches made", from, from + batch - 1,
                             batches.size() == 1 ? "are in it" : "are in the first"),
                 {fmt::format("Seen at {}: look at these sequences of {} for text that is broken, repeated or empty.",
                              steps_words(bad), run.plan.data.path),
                  again ? std::string("The same batch did it again after a rollback: it is the data.")
                        : std::string("Each batch was met once, so that data and learning rate cannot be told apart.")},
                 {{{"guard.rollback=true", "guard.every=1"}, "a bad batch is left out of the run that goes on"}},
                 "the guard's events"});
}

void check_overflow(const RunFacts& run, Sheet& sheet) {
    if (run.plan.numerics.dtype != Dtype::Fp16) return sheet.fine("overflow", "no fp16: nothing overflows at 65,504");
    const auto events = run.events(EventKind::Overflow);
    const Pyramid* loss = run.store().find(series::loss);
    if (loss == nullptr || loss->size() == 0) return sheet.unknown("overflow", "no step was recorded");
    std::vector<const Event*> later;
    std::copy_if(events.begin(), events.end(), std::back_inserter(later),
                 [](const Event* event) { return event->step > scale_settles; });
    const double share = static_cast<double>(later.size()) / static_cast<double>(loss->size());
    const bool ended = run.failed_with({"overflow"});
    const std::string words = fmt::format("{} of {} overflowed, {} of them after step {}", events.size(),
                                          steps_count(loss->size()), later.size(), scale_settles);
    if (!ended && (later.size() < storm_least || share < storm_share)) return sheet.fine("overflow", words);
    Finding finding{"overflow-storm",
                    ended ? Severity::Error : Severity::Warning,
                    "overflow",
                    ended ? "The run ended on fp16 gradients that overflow."
                          : fmt::format("{} of the steps overflow fp16 and are lost.", percent(share)),
                    {words + "."},
                    {},
                    "DeepSpeed's and PyTorch's loss scalers: one step in 1000 or 2000 is usual"};
    if (!later.empty())
        finding.evidence.push_back(fmt::format("Scale {:g} before the first of them and {:g} after the last ({}).",
                                               scale_of(*later.front()).scale, scale_of(*later.back()).next_scale,
                                               steps_words(later)));
    finding.changes = cures(run.plan);
    if (run.plan.numerics.loss_scale > 0)
        finding.changes.insert(finding.changes.begin(), {{"numerics.loss_scale=0"},
                                                         fmt::format("a scale that adapts, in place of a static {:g}",
                                                                     run.plan.numerics.loss_scale)});
    sheet.found(std::move(finding));
}

void check_loss_scale(const RunFacts& run, Sheet& sheet) {
    const Numerics& numerics = run.plan.numerics;
    if (numerics.dtype != Dtype::Fp16) return sheet.fine("loss-scale", "no loss scale is needed");
    if (numerics.loss_scale > 0) return sheet.fine("loss-scale", fmt::format("static at {:g}", numerics.loss_scale));
    const Curve scale = run.curve(series::loss_scale);
    if (scale.size() == 0) return sheet.unknown("loss-scale", "no step was recorded");
    // PyTorch's scale has no minimum; below 1 it makes gradients smaller than they are.
    const double least = numerics.loss_scale_policy == LossScalePolicy::PyTorch ? 1 : numerics.min_loss_scale;
    std::size_t stuck = 0;
    while (stuck < scale.size() && scale.values[scale.size() - 1 - stuck] <= least) ++stuck;
    const bool ended = run.failed_with({"loss scale is at its minimum"});
    if (!ended && stuck < std::min(stuck_for, scale.size()))
        return sheet.fine("loss-scale", fmt::format("{:g} at step {}", scale.values.back(), scale.steps.back()));
    const auto low = *std::min_element(scale.values.begin(), scale.values.end());
    Finding finding{
        "scale-at-minimum",
        ended ? Severity::Error : Severity::Warning,
        "loss-scale",
        fmt::format("The loss scale is stuck at its minimum of {:g}.", least),
        {fmt::format("For the last {} it was {:g}; the lowest was {:g}.", steps_count(stuck), scale.values.back(), low),
         "Without a scale small gradients of fp16 are zero, and those that overflow still do: they are too "
         "large by themselves."},
        cures(run.plan),
        "Micikevicius et al. 2018, section 3.2"};
    sheet.found(std::move(finding));
}

void check_initial_loss(const RunFacts& run, Sheet& sheet) {
    const Curve loss = run.curve(series::loss);
    if (loss.size() == 0 || loss.steps[0] != 1) return sheet.unknown("initial-loss", "the first step was not recorded");
    const double guess = std::log(static_cast<double>(std::max<std::int64_t>(run.plan.model.vocab_size, 2)));
    const std::string words = fmt::format("{:.3f}, where a guess among {} tokens has ln V = {:.3f}", loss.values[0],
                                          format_count(run.plan.model.vocab_size), guess);
    if (loss.values[0] <= guess + bad_start || !run.plan.model.weights.empty())
        return sheet.fine("initial-loss", words);
    const double std_now = run.plan.model.init_std;
    sheet.found({"bad-initialisation",
                 Severity::Warning,
                 "initial-loss",
                 "The first loss is above that of a guess: the initial weights are too large.",
                 {words + "."},
                 {{{fmt::format("model.init_std={:.3g}", std_now > 0.02 ? 0.02 : std_now / 2)},
                   fmt::format("smaller initial weights (standard deviation {:g} now)", std_now)}},
                 "Radford et al. 2019 (GPT-2): 0.02"});
}

}  // namespace

void check_run_numbers(const RunFacts& run, Sheet& sheet) {
    check_nonfinite(run, sheet);
    check_bad_data(run, sheet);
    check_overflow(run, sheet);
    check_loss_scale(run, sheet);
    check_initial_loss(run, sheet);
}

}  // namespace plimsoll::doctor
