// SPDX-License-Identifier: Apache-2.0
// Whether the learning rate suits the run: the behaviour of loss and gradient norm while the rate was near its peak.
#include <algorithm>
#include <cmath>

#include "core/base/median.h"
#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/control/robust_window.h"
#include "core/doctor/plan_checks/plan_checks.h"
#include "core/doctor/run_checks/run_checks.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t least_rate_steps = 40;  ///< near the peak, for windows of five
constexpr double near_peak = 0.5;
/// A loss that is a twentieth above its own lowest, and clear of the batches' scatter, has turned.
constexpr double loss_rose = 1.05;
constexpr double clear_of_scatter = 3;
/// A choice: norms of a stable run fall after the warmup, or rise slowly.
constexpr double norm_grew = 4;
/// Of normal scatter one sample in 741 lies 3 deviations up; ten times as many are too many.
constexpr double many_spikes = 0.0135;
constexpr std::size_t least_spikes = 3;
constexpr double always_clipped = 0.9;   ///< the remaining tenth passes by chance
constexpr double hardly_learned = 0.01;  ///< of the first loss, in a hundred steps and more
constexpr double val_rose = 1.02;        ///< beyond the difference between one validation and the next

/// Medians over windows of equal length, and how far single steps lie from them.
struct Windows {
    std::vector<double> medians;
    std::vector<std::uint64_t> ends;  ///< last step of each
    std::size_t length = 0;
    double scatter = 0;  ///< standard deviation of a median
};

Windows windows_of(const Curve& curve, std::size_t end) {
    Windows all;
    all.length = std::max<std::size_t>(5, end / 20);
    std::vector<double> off;
    for (std::size_t begin = 0; begin + all.length <= end; begin += all.length) {
        const double middle = median_of(curve, begin, begin + all.length);
        all.medians.push_back(middle);
        all.ends.push_back(curve.steps[begin + all.length - 1]);
        for (std::size_t i = begin; i < begin + all.length; ++i) off.push_back(std::abs(curve.values[i] - middle));
    }
    // 1.4826 MAD is a standard deviation, and the deviation of a median is 1.25 times a mean's.
    all.scatter = 1.25 * 1.4826 * median(off) / std::sqrt(static_cast<double>(all.length));
    return all;
}

/// Points of `curve` up to the last step at which the rate was near its peak.
std::size_t end_of_peak(const Curve& curve, const Curve& rate) {
    const double peak = *std::max_element(rate.values.begin(), rate.values.end());
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < rate.size(); ++i)
        if (rate.values[i] >= near_peak * peak) last = std::max(last, rate.steps[i]);
    return static_cast<std::size_t>(std::upper_bound(curve.steps.begin(), curve.steps.end(), last) -
                                    curve.steps.begin());
}

/// "The gradient norm grew …", or "".
std::string norm_growth(const RunFacts& run, const Curve& rate) {
    const Curve norm = run.curve(series::grad_norm);
    const auto warmup = static_cast<std::uint64_t>(warmup_updates(run.plan.lr, run.plan.training.steps));
    const std::size_t end = end_of_peak(norm, rate);
    const auto begin =
        static_cast<std::size_t>(std::upper_bound(norm.steps.begin(), norm.steps.end(), warmup) - norm.steps.begin());
    if (end < begin + least_rate_steps / 2) return "";
    const std::size_t length = std::max<std::size_t>(5, (end - begin) / 10);
    const double first = median_of(norm, begin, begin + length), last = median_of(norm, end - length, end);
    if (first <= 0 || last < norm_grew * first) return "";
    return fmt::format("The gradient norm grew from {:.3g} after the warmup to {:.3g} by step {}.", first, last,
                       norm.steps[end - 1]);
}

/// Where what is added to the loss went while the loss rose: whether it has a part in it.
std::vector<std::string> added_losses(const RunFacts& run, std::uint64_t from, std::uint64_t to) {
    std::vector<std::string> sentences;
    for (const auto& [name, words] : {std::pair{series::router_loss, "router loss"}, {series::z_loss, "z-loss"}}) {
        const Curve added = run.curve(name);
        const auto at = [&](std::uint64_t step) {
            const auto found = std::lower_bound(added.steps.begin(), added.steps.end(), step);
            return static_cast<std::size_t>(found - added.steps.begin());
        };
        const std::size_t begin = at(from), end = at(to);
        if (begin >= end || end >= added.size()) continue;
        sentences.push_back(fmt::format("The {} went from {:.3g} to {:.3g} between these steps.", words,
                                        added.values[begin], added.values[end]));
    }
    return sentences;
}

void check_too_high(const RunFacts& run, const Curve& loss, const Curve& rate, Sheet& sheet) {
    const std::size_t end = end_of_peak(loss, rate);
    if (end < least_rate_steps) {
        const std::string why =
            fmt::format("{} near the peak rate are recorded; {} are needed", steps_count(end), least_rate_steps);
        return sheet.unknown("lr-too-high", why);
    }
    const Windows windows = windows_of(loss, end);
    const auto best = std::min_element(windows.medians.begin(), windows.medians.end());
    const double low = *best, last = windows.medians.back();
    const bool rose = last > loss_rose * low && last - low > clear_of_scatter * windows.scatter;
    const std::string growth = norm_growth(run, rate);
    const double peak = *std::max_element(rate.values.begin(), rate.values.end());
    if (!rose && growth.empty())
        return sheet.fine("lr-too-high", fmt::format("up to {:.3g}: the loss was {:.3f} at its lowest and {:.3f} when "
                                                     "the rate left its peak",
                                                     peak, low, last));
    Finding finding{
        "lr-too-high",
        rose ? Severity::Warning : Severity::Advice,
        "lr-too-high",
        rose ? fmt::format("The loss rises while the learning rate is near its peak of {:.3g}.", peak)
             : fmt::format("The gradient norm grows while the learning rate is near its peak of {:.3g}.", peak),
        {},
        calming_changes(run.plan),
        "medians over windows of the run"};
    if (rose) {
        finding.evidence.push_back(
            fmt::format("Medians over {} steps: {:.3f} up to step {}, then {:.3f} up to step {}, {} "
                        "more; single steps scatter such a median by {:.2g}.",
                        windows.length, low, windows.ends[static_cast<std::size_t>(best - windows.medians.begin())],
                        last, windows.ends.back(), percent(last / low - 1), windows.scatter));
        const std::uint64_t lowest = windows.ends[static_cast<std::size_t>(best - windows.medians.begin())];
        for (std::string& sentence : added_losses(run, lowest, windows.ends.back()))
            finding.evidence.push_back(std::move(sentence));
    }
    if (!growth.empty()) finding.evidence.push_back(growth);
    const std::size_t spikes = run.spikes().size();
    if (spikes > 0)
        finding.evidence.push_back(fmt::format("The guard found {} {}.", spikes, spikes == 1 ? "spike" : "spikes"));
    sheet.found(std::move(finding));
}

void check_too_low(const RunFacts& run, const Curve& loss, Sheet& sheet) {
    const auto warmup = static_cast<std::uint64_t>(warmup_updates(run.plan.lr, run.plan.training.steps));
    const auto begin =
        static_cast<std::size_t>(std::upper_bound(loss.steps.begin(), loss.steps.end(), warmup) - loss.steps.begin());
    if (loss.size() < begin + 100)
        return sheet.unknown("lr-too-low", "fewer than 100 steps after the warmup are recorded");
    const double first = loss.values[0], last = median_of(loss, loss.size() - 20, loss.size());
    const double fell = 1 - last / first;
    const std::string words =
        fmt::format("the loss went from {:.3f} to {:.3f} in {}", first, last, steps_count(loss.size()));
    // A run that starts from given weights has little room for its loss to fall.
    if (fell > hardly_learned || fell < -hardly_learned || !run.plan.model.weights.empty())
        return sheet.fine("lr-too-low", words);
    sheet.found({"lr-too-low",
                 Severity::Advice,
                 "lr-too-low",
                 "The loss hardly moves: the learning rate may be too low.",
                 {words + "."},
                 {{{lr_setting(run.plan, 3)}, fmt::format("three times the peak of {:g}", run.plan.optimizer.lr)},
                  {{"lr.kind=range-test"}, "a range test shows the rate at which the loss falls fastest"}},
                 "Smith 2015, 1506.01186"});
}

void check_spikes(const RunFacts& run, const Curve& loss, Sheet& sheet) {
    if (run.plan.guard.detector == GuardDetector::Off)
        return sheet.unknown("spikes", "the guard is off: guard.detector");
    const std::vector<const Event*> spikes = run.spikes();
    const double looked =
        static_cast<double>(loss.size()) / static_cast<double>(std::max<std::int64_t>(run.plan.guard.every, 1));
    if (looked < 1) return sheet.unknown("spikes", "the guard has looked at no step yet: guard.every");
    const double share = static_cast<double>(spikes.size()) / looked;
    const std::string words = fmt::format("{} in {:.0f} steps that the guard looked at", spikes.size(), looked);
    if (spikes.size() < least_spikes || share < many_spikes) return sheet.fine("spikes", words);
    Finding finding{
        "spikes",
        Severity::Warning,
        "spikes",
        fmt::format("Spikes: {}.", words),
        {fmt::format("At {}; of normal scatter it would be one in 741.", steps_words(spikes)), spikes.back()->sentence},
        calming_changes(run.plan),
        "the guard's events"};
    if (run.plan.optimizer.beta2 > 0.95 && run.plan.optimizer.kind != OptimizerKind::Sgd)
        finding.changes.push_back({{"optimizer.beta2=0.95"}, "the second moment follows grown gradients sooner"});
    sheet.found(std::move(finding));
}

void check_clipped(const RunFacts& run, Sheet& sheet) {
    const double clip = run.plan.optimizer.clip;
    if (clip <= 0) return sheet.fine("clipped-steps", "optimizer.clip is off");
    const Curve norm = run.curve(series::grad_norm);
    const auto warmup = static_cast<std::uint64_t>(warmup_updates(run.plan.lr, run.plan.training.steps));
    std::vector<double> later;
    for (std::size_t i = 0; i < norm.size(); ++i)
        if (norm.steps[i] > warmup) later.push_back(norm.values[i]);
    if (later.size() < 50) return sheet.unknown("clipped-steps", "fewer than 50 steps after the warmup are recorded");
    const auto over = std::count_if(later.begin(), later.end(), [&](double value) { return value > clip; });
    const double share = static_cast<double>(over) / static_cast<double>(later.size());
    const std::string words = fmt::format("{} of the steps after the warmup are above {:g}", percent(share), clip);
    if (share < always_clipped) return sheet.fine("clipped-steps", words);
    const double middle = median(later);
    sheet.found({"always-clipped",
                 Severity::Advice,
                 "clipped-steps",
                 "Almost every step is clipped.",
                 {fmt::format("{}; their median norm is {:.3g}.", words, middle),
                  "Clipping then sets every step's length, and no longer tells a bad batch from a good one."},
                 {{{fmt::format("optimizer.clip={:.2g}", 2 * middle)},
                   "twice the usual norm: what stands out is clipped, the rest passes"},
                  {{lr_setting(run.plan, 0.5)}, "a lower rate brings the norms down where they grew by it"}},
                 "Pascanu et al. 2013, section 3.2: a threshold above the average norm"});
}

void check_overfit(const RunFacts& run, const Curve& loss, Sheet& sheet) {
    const Curve val = run.curve(series::validation_loss);
    if (val.size() < 4) return sheet.unknown("overfit", "fewer than four validation losses are recorded");
    const auto best =
        static_cast<std::size_t>(std::min_element(val.values.begin(), val.values.end()) - val.values.begin());
    const double low = val.values[best], last = val.values.back();
    const auto at = static_cast<std::size_t>(std::lower_bound(loss.steps.begin(), loss.steps.end(), val.steps[best]) -
                                             loss.steps.begin());
    const std::size_t window = std::max<std::size_t>(5, loss.size() / 20);
    const double then = median_of(loss, at < window ? 0 : at - window, at);
    const double now = median_of(loss, loss.size() < window ? 0 : loss.size() - window, loss.size());
    const bool turned = best + 2 < val.size() && last > val_rose * low;
    if (!turned || now >= then)
        return sheet.fine("overfit",
                          fmt::format("{:.3f} at step {}, {:.3f} at its lowest", last, val.steps.back(), low));
    Finding finding{
        "overfit",
        Severity::Warning,
        "overfit",
        "The validation loss rises while the training loss falls.",
        {fmt::format("Validation: {:.3f} at step {}, {:.3f} at step {}. Training: {:.3f}, then {:.3f}.", low,
                     val.steps[best], last, val.steps.back(), then, now)},
        {{{fmt::format("training.steps={}", val.steps[best])}, "ends where the validation loss was lowest"}},
        "early stopping: Prechelt 1998"};
    if (run.plan.model.dropout < 0.1)
        finding.changes.push_back({{"model.dropout=0.1"}, "dropout on embeddings, attention and residuals"});
    if (run.plan.optimizer.weight_decay < 0.1)
        finding.changes.push_back({{"optimizer.weight_decay=0.1"}, "weights are held smaller"});
    sheet.found(std::move(finding));
}

}  // namespace

void check_run_rate(const RunFacts& run, Sheet& sheet) {
    const Curve loss = run.curve(series::loss), rate = run.curve(series::lr);
    if (loss.size() == 0 || rate.size() == 0) {
        for (const char* item : {"lr-too-high", "lr-too-low", "spikes", "clipped-steps", "overfit"})
            sheet.unknown(item, "no step was recorded");
        return;
    }
    if (run.plan.lr.kind == LrKind::RangeTest) {
        for (const char* item : {"lr-too-high", "lr-too-low"})
            sheet.unknown(item, "the run is a range test: its rate rises on purpose");
    } else {
        check_too_high(run, loss, rate, sheet);
        check_too_low(run, loss, sheet);
    }
    check_spikes(run, loss, sheet);
    check_clipped(run, sheet);
    check_overfit(run, loss, sheet);
}

}  // namespace plimsoll::doctor
