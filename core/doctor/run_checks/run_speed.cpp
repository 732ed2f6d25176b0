// SPDX-License-Identifier: Apache-2.0
// How long steps took: compared with the prediction, over time, and with the pauses between them.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/control/robust_window.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/telemetry/contract/event_contents.h"
#include "core/telemetry/contract/event_kind.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t first_steps = 5;  ///< steps in which allocators, caches and kernels settle
constexpr std::size_t least_speed_steps = 40;
/// Quarters of short runs on two cores that others use as well differed by up to 16 %.
constexpr double slowed_to = 0.8;
/// The model's own error is 4 to 8 % (docs/planner.md): half as much again is beyond it.
constexpr double much_slower = 1.5;
constexpr double much_data = 0.05;    ///< a choice: a twentieth is more than any data loading should take
constexpr double much_waiting = 0.3;  ///< a choice: with overlap the usual layouts stay below it
constexpr double much_beside = 0.1;   ///< a choice: what a tenth of the run is worth
constexpr Seconds worth_a_minute = 60;

void check_throughput(const RunFacts& run, Sheet& sheet) {
    const Curve rate = run.curve(series::tokens_per_second);
    if (rate.size() < first_steps + least_speed_steps)
        return sheet.unknown("throughput", fmt::format("{} are recorded; {} are needed", steps_count(rate.size()),
                                                       first_steps + least_speed_steps));
    const std::size_t quarter = (rate.size() - first_steps) / 4;
    const double first = median_of(rate, first_steps, first_steps + quarter);
    const double last = median_of(rate, rate.size() - quarter, rate.size());
    const std::string words = fmt::format("{} tokens/s in the first quarter of the run and {} in the last",
                                          format_short(first), format_short(last));
    if (last >= slowed_to * first) return sheet.fine("throughput", words);
    Finding finding{"throughput-falls",
                    Severity::Warning,
                    "throughput",
                    fmt::format("The throughput fell by {}.", percent(1 - last / first)),
                    {words + "."},
                    {},
                    "tokens_per_second of the run"};
    // The first slow window, to be compared with the machine's other work at that time.
    const std::size_t window = std::max<std::size_t>(5, rate.size() / 20);
    for (std::size_t at = first_steps; at + window <= rate.size(); at += window)
        if (median_of(rate, at, at + window) < slowed_to * first) {
            finding.evidence.push_back(fmt::format("It is below four fifths since about step {}.", rate.steps[at]));
            break;
        }
    finding.evidence.push_back(
        "The plan does the same in each step: look for other work on the machine, clocks that "
        "were lowered for heat or power, and a disk or network that others use.");
    sheet.found(std::move(finding));
}

void check_predicted(const RunFacts& run, const PlanFacts* plan, Sheet& sheet) {
    if (plan == nullptr || !plan->hardware)
        return sheet.unknown("predicted", plan == nullptr ? "the run's plan is impossible" : plan->no_speed);
    const Curve time = run.curve(series::step_time);
    if (time.size() < 2 * first_steps) return sheet.unknown("predicted", "fewer than ten steps are recorded");
    const double measured = median_of(time, first_steps, time.size()), predicted = plan->time.total();
    const std::string words =
        fmt::format("{} a step, predicted {}", format_seconds(measured), format_seconds(predicted));
    if (measured <= much_slower * predicted) return sheet.fine("predicted", words);
    const auto largest = std::max_element(plan->time.parts.begin(), plan->time.parts.end());
    sheet.found({"slower-than-predicted",
                 Severity::Warning,
                 "predicted",
                 fmt::format("A step takes {:.1f} times what was predicted.", measured / predicted),
                 {words + ".",
                  fmt::format("Predicted most for {} ({}).",
                              time_part_names[static_cast<std::size_t>(largest - plan->time.parts.begin())],
                              format_seconds(*largest)),
                  "`plimsoll bench --calibrate` measures this machine's rates; `plimsoll bench train` shows what a "
                  "change of the plan brings."},
                 {},
                 plan->hardware->source});
}

/// Share of a step's time on the rank that has the highest share, or the lowest; nothing where the share is not
/// recorded.
std::optional<double> share_of_step(const RunFacts& run, const char* name, bool most) {
    std::optional<double> share;
    const auto world = std::min<std::int64_t>(run.plan.layout.world_size(), max_ranks);
    for (int rank = 0; rank < world; ++rank) {
        const Curve part = run.curve(name, rank), step = run.curve(series::step_time, rank);
        if (part.size() < 2 * first_steps || step.size() != part.size()) continue;
        const double whole = median_of(step, first_steps, step.size());
        if (whole <= 0) continue;
        const double own = median_of(part, first_steps, part.size()) / whole;
        if (!share || (most ? own > *share : own < *share)) share = own;
    }
    return share;
}

void check_data(const RunFacts& run, Sheet& sheet) {
    const auto share = share_of_step(run, series::data_time, true);
    if (!share) {
        return sheet.unknown("data", "fewer than ten steps with their data time are recorded");
    }
    const std::string words = fmt::format("{} of a step goes into cutting batches", percent(*share));
    if (*share < much_data) return sheet.fine("data", words);
    sheet.found({"slow-data",
                 Severity::Warning,
                 "data",
                 fmt::format("Each step spends {} of its time on its data.", percent(*share)),
                 {words + " on the rank that needs longest (median).",
                  "Batches are cut from the text in memory: a machine that swaps, or a text on a slow network file "
                  "system that is read page by page, is the usual cause; copy the text to a local drive."},
                 {},
                 "data_time and step_time of the run"});
}

/// The wait of the rank that waits least is the cost of the links; longer waits are for slower ranks.
void check_waits(const RunFacts& run, Sheet& sheet) {
    if (run.plan.layout.world_size() == 1) return;
    const auto least = share_of_step(run, series::wait_time, false), most = share_of_step(run, series::wait_time, true);
    if (!least) return;
    const std::string words = fmt::format("between {} and {} of a step goes into waiting for others, by rank",
                                          percent(*least), percent(*most));
    if (*least < much_waiting) return sheet.fine("communication", words);
    Finding finding{"slow-communication",
                    Severity::Warning,
                    "communication",
                    fmt::format("Every rank waits for at least {} of each step.", percent(*least)),
                    {words + " (medians).",
                     "What even the rank that waits least waits is what sending takes that does not hide behind work."},
                    {},
                    "wait_time and step_time of the run"};
    const Layout& l = run.plan.layout;
    if (l.dp > 1) {
        finding.changes.push_back({{fmt::format("layout.accumulation={}", 2 * l.accumulation)},
                                   "gradients travel half as often for each token, with a batch twice as large"});
    }
    if (l.tp > 1) {
        finding.changes.push_back({{fmt::format("layout.tp={}", l.tp / 2), fmt::format("layout.dp={}", 2 * l.dp)},
                                   "half as many ranks share each layer"});
    }
    sheet.found(std::move(finding));
}

/// Seconds between the end of a step and the start of the next, and seconds of the steps themselves; restarts are left
/// out.
struct Clock {
    Seconds steps = 0, beside = 0, checkpoints = 0;
};

Clock clock_of(const RunFacts& run) {
    Clock clock;
    std::vector<double> starts;
    for (const EventKind kind : {EventKind::Start, EventKind::Resume, EventKind::Rollback})
        for (const Event* event : run.events(kind)) starts.push_back(event->time);
    const Pyramid* time = run.store().find(series::step_time);
    for (std::size_t i = 1; time != nullptr && i < time->size(); ++i) {
        const double from = time->time(i - 1), to = time->time(i), step = time->value(i);
        const bool restarted =
            std::any_of(starts.begin(), starts.end(), [&](double t) { return t >= from && t <= to; });
        if (restarted || !std::isfinite(step) || !std::isfinite(to - from) || to < from) continue;
        clock.steps += step;
        clock.beside += std::max(to - from - step, 0.0);
    }
    for (const Event* event : run.events(EventKind::Checkpoint)) {
        const auto checkpoint = CheckpointEvent::from_json(event->details);
        if (checkpoint && std::isfinite(checkpoint->seconds)) clock.checkpoints += std::max(checkpoint->seconds, 0.0);
    }
    return clock;
}

void check_beside(const RunFacts& run, Sheet& sheet) {
    const Clock clock = clock_of(run);
    const Seconds whole = clock.steps + clock.beside;
    if (whole < worth_a_minute) return sheet.unknown("beside-steps", "less than a minute of steps is recorded");
    const double share = clock.beside / whole;
    const std::string words = fmt::format("{} of the time went by beside the steps, {} of it in checkpoints",
                                          percent(share), format_seconds(std::min(clock.checkpoints, clock.beside)));
    if (share < much_beside) return sheet.fine("beside-steps", words);
    Finding finding{"much-beside-steps",
                    Severity::Advice,
                    "beside-steps",
                    "Checkpoints, validation and samples take a large part of the run.",
                    {words + "."},
                    {},
                    "the times of the run's records"};
    const Training& t = run.plan.training;
    const auto rarer = [&](const char* key, std::int64_t every) {
        if (every > 0)
            finding.changes.push_back({{fmt::format("training.{}={}", key, 2 * every)},
                                       fmt::format("half as often (each {} steps now)", every)});
    };
    if (clock.checkpoints > clock.beside / 2) rarer("checkpoint_every", t.checkpoint_every);
    rarer("validate_every", t.validate_every);
    rarer("sample_every", t.sample_every);
    sheet.found(std::move(finding));
}

}  // namespace

void check_run_speed(const RunFacts& run, const PlanFacts* plan, Sheet& sheet) {
    check_data(run, sheet);
    check_waits(run, sheet);
    check_predicted(run, plan, sheet);
    check_throughput(run, sheet);
    check_beside(run, sheet);
}

}  // namespace plimsoll::doctor
