// SPDX-License-Identifier: Apache-2.0
// Warmup and batch rule, as the plan sets them.
#include <algorithm>
#include <cmath>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

bool is_adaptive(OptimizerKind kind) { return kind != OptimizerKind::Sgd; }

/// Updates after which Adam's second moment has settled: the untuned linear warmup of Ma and Yarats.
std::int64_t untuned_warmup(const Optimizer& optimizer) {
    return static_cast<std::int64_t>(std::llround(2 / (1 - std::min(optimizer.beta2, 0.9999))));
}

std::vector<std::string> warmup_settings(const Plan& plan, std::int64_t updates) {
    const std::int64_t most = std::max<std::int64_t>(plan.training.steps / 10, 1);
    return {"lr.warmup_fraction=0", fmt::format("lr.warmup_steps={}", std::min(updates, most))};
}

/// DeepSpeed's warmups take max(2, steps) and trail by an update (runtime/lr_schedules.py), so without a warmup two
/// updates run at the lowest rate.
bool wastes_updates(const Plan& plan, std::int64_t warmup) {
    const LrKind kind = plan.lr.kind;
    const bool warms_up = kind == LrKind::DeepSpeedWarmup || kind == LrKind::DeepSpeedWarmupDecay ||
                          kind == LrKind::DeepSpeedWarmupCosine;
    return warms_up && warmup < 2 && learning_rate(plan, 1) < 0.5 * peak_learning_rate(plan);
}

void found_wasted_updates(const Plan& plan, std::int64_t warmup, Sheet& sheet) {
    const double share = learning_rate(plan, 1) / peak_learning_rate(plan);
    Finding finding{
        "wasted-updates",
        Severity::Advice,
        "warmup",
        fmt::format("The first two updates run at {} of the peak.", percent(share)),
        {fmt::format("{} counts a warmup of {} as 2 and starts an update late.", name_of(plan.lr.kind), warmup)},
        {},
        "DeepSpeed, runtime/lr_schedules.py"};
    const auto settings = warmup_settings(plan, untuned_warmup(plan.optimizer));
    finding.changes.push_back({settings, fmt::format("a warmup that is meant ({})", settings.back())});
    sheet.found(std::move(finding));
}

void check_warmup(const Plan& plan, Sheet& sheet) {
    if (plan.lr.kind == LrKind::RangeTest) return sheet.fine("warmup", "a range test rises by itself");
    const double first = learning_rate(plan, 0) / peak_learning_rate(plan);
    const std::int64_t warmup = warmup_updates(plan.lr, plan.training.steps);
    const std::int64_t untuned = untuned_warmup(plan.optimizer);
    if (wastes_updates(plan, warmup)) return found_wasted_updates(plan, warmup, sheet);
    const bool jumps = first > 0.5;
    const bool is_short = is_adaptive(plan.optimizer.kind) && warmup < untuned / 2 && warmup < plan.training.steps / 10;
    // SGD has no second moment that has to settle, but a large batch still wants a gentle start (Goyal et al. 2017).
    if (!jumps && !is_short)
        return sheet.fine("warmup", fmt::format("{} updates of {}, from {} of the peak", warmup, plan.training.steps,
                                                percent(first)));
    const char* name = name_of(plan.optimizer.kind).data();
    Finding finding{jumps ? "no-warmup" : "short-warmup",
                    jumps && is_adaptive(plan.optimizer.kind) ? Severity::Warning : Severity::Advice,
                    "warmup",
                    jumps ? fmt::format("The learning rate begins at {} of its peak.", percent(first))
                          : fmt::format("The warmup of {} updates is short.", warmup),
                    {fmt::format("Until about 2 / (1 - beta2) = {} updates {}'s second moment is of few gradients, and "
                                 "steps come out too long.",
                                 untuned, name)},
                    {},
                    "Liu et al. 2020 (RAdam); Ma and Yarats 2021, On the adequacy of untuned warmup"};
    if (!is_adaptive(plan.optimizer.kind))
        finding.evidence = {
            "The first gradients point where any later model would not go; a rise over the first "
            "updates keeps them from throwing it far."};
    const auto settings = warmup_settings(plan, untuned);
    finding.changes.push_back({settings, fmt::format("the rate rises over the first updates ({})", settings.back())});
    sheet.found(std::move(finding));
}

void check_batch_rule(const Plan& plan, Sheet& sheet) {
    const double tokens = tokens_per_batch(plan);
    const bool sgd = plan.optimizer.kind == OptimizerKind::Sgd;
    const BatchRule rule = plan.lr.batch_rule;
    const double ratio = tokens / static_cast<double>(plan.lr.batch_reference);
    if (rule == BatchRule::None)
        return sheet.fine("batch-rule", fmt::format("optimizer.lr {:g} is meant for this batch of {} tokens",
                                                    plan.optimizer.lr, format_short(tokens)));
    const bool wrong = (sgd && rule == BatchRule::Sqrt) || (!sgd && rule == BatchRule::Linear);
    // Up to a factor of two the rules differ by less than 1.5.
    if (!wrong || (ratio > 0.5 && ratio < 2))
        return sheet.fine("batch-rule", fmt::format("{} rule: a peak of {:.3g} for {} tokens a batch", name_of(rule),
                                                    peak_learning_rate(plan), format_short(tokens)));
    const char* better = sgd ? "linear" : "sqrt";
    sheet.found({"batch-rule",
                 Severity::Warning,
                 "batch-rule",
                 fmt::format("The {} batch rule does not suit {}.", name_of(rule), name_of(plan.optimizer.kind)),
                 {fmt::format("A batch of {} tokens is {:.3g} times lr.batch_reference: the peak comes out at {:.3g}, "
                              "and by the {} rule at {:.3g}.",
                              format_short(tokens), ratio, peak_learning_rate(plan), better,
                              plan.optimizer.lr * (sgd ? ratio : std::sqrt(ratio)))},
                 {{{fmt::format("lr.batch_rule={}", better)},
                   sgd ? "SGD's steps are as long as its gradients: in proportion to the batch"
                       : "Adam's steps have one length: as the root of the batch, by which the noise falls"}},
                 "Malladi et al. 2022 (Adam: square root); Goyal et al. 2017 (SGD: linear)"});
}

}  // namespace

std::string lr_setting(const Plan& plan, double factor) {
    return fmt::format("optimizer.lr={:.3g}", plan.optimizer.lr * factor);
}

std::vector<FindingChange> calming_changes(const Plan& plan) {
    std::vector<FindingChange> changes{
        {{lr_setting(plan, 0.5)}, fmt::format("half the peak learning rate ({:g} now)", plan.optimizer.lr)}};
    const std::int64_t warmup = warmup_updates(plan.lr, plan.training.steps);
    const std::int64_t longer = std::max({2 * warmup, untuned_warmup(plan.optimizer), plan.training.steps / 20});
    changes.push_back(
        {{"lr.warmup_fraction=0", fmt::format("lr.warmup_steps={}", std::min(longer, plan.training.steps / 2))},
         fmt::format("a longer warmup ({} updates now)", warmup)});
    if (plan.optimizer.clip <= 0 || plan.optimizer.clip > 1)
        changes.push_back({{"optimizer.clip=1"}, "each update is bounded"});
    const Guard& guard = plan.guard;
    if (guard.detector == GuardDetector::Off || guard.every > 1 || !(guard.clip && guard.cut_lr))
        changes.push_back({{"guard.detector=sigma", "guard.every=1", "guard.clip=true", "guard.cut_lr=true"},
                           "the guard looks at each step, clips what stands out and cuts the rate where it goes on"});
    return changes;
}

void check_learning_rate(const Plan& plan, Sheet& sheet) {
    check_warmup(plan, sheet);
    check_batch_rule(plan, sheet);
}

}  // namespace plimsoll::doctor
