// SPDX-License-Identifier: Apache-2.0
// A rank that the others wait for.
#include <algorithm>
#include <functional>

#include "core/base/median.h"
#include "core/control/robust_window.h"
#include "core/doctor/run_checks/run_checks.h"
#include "core/run/measured_pipeline.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/schedule/plan_pipeline/plan_schedule.h"
#include "core/schedule/plan_pipeline/schedule_file.h"
#include "core/schedule/stage_times.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll::doctor {

namespace {

constexpr std::size_t recent = 50;
constexpr std::size_t least_straggler_steps = 5;
/// In four runs of two ranks on busy cores their medians lay within 1.5 % of one another.
constexpr double slower_in_steps = 1.05;
/// A choice: the pace of ranks with equal work differs by their machines' other load.
constexpr double slower_in_own_time = 1.25;
constexpr Seconds least_difference = 1e-3;  ///< below which no step is worth a look
/// Stages are compared by their share of the FLOPs, which leaves out what no product does: a wide margin.
constexpr double slower_in_pipeline = 1.3;
constexpr int most_pipeline_steps = 5;

struct Slow {
    int rank = 0;
    Seconds time = 0;
    Seconds others = 0;  ///< median of the other ranks' times
    double ratio = 0;    ///< time / others
    std::string words;
};

Seconds median_of_others(const std::vector<Seconds>& all, std::size_t one) {
    std::vector<double> others;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i != one) others.push_back(all[i]);
    return median(others);
}

std::optional<Slow> slowest_of(const std::vector<Seconds>& times, const std::vector<int>& ranks, double threshold) {
    if (times.size() < 2) return std::nullopt;
    const auto worst = static_cast<std::size_t>(std::max_element(times.begin(), times.end()) - times.begin());
    const Seconds others = median_of_others(times, worst);
    if (others <= 0 || times[worst] < threshold * others) return std::nullopt;
    return Slow{ranks[worst], times[worst], others, times[worst] / others, ""};
}

/// For each rank whose series `of` has enough steps: the median of the last steps.
struct RankTimes {
    RankTimes(const RunFacts& run, const std::function<Curve(int rank)>& of) {
        const auto world = std::min<std::int64_t>(run.plan.layout.world_size(), max_ranks);
        for (int rank = 0; rank < world; ++rank) {
            const Curve curve = of(rank);
            if (curve.size() < least_straggler_steps) continue;
            times.push_back(median_of(curve, curve.size() > recent ? curve.size() - recent : 1, curve.size()));
            ranks.push_back(rank);
        }
        of_all = times.size() == static_cast<std::size_t>(world);
    }
    std::vector<Seconds> times;
    std::vector<int> ranks;
    bool of_all = false;
};

/// Compares the ranks' own step times, which differ where ranks do not wait for one another in each step.
std::optional<Slow> slow_by_steps(const RunFacts& run) {
    const RankTimes steps(run, [&](int rank) { return run.curve(series::step_time, rank); });
    auto slow = slowest_of(steps.times, steps.ranks, slower_in_steps);
    if (slow)
        slow->words = fmt::format("Over its last steps rank {} took {} a step (median), the others {}.", slow->rank,
                                  format_seconds(slow->time), format_seconds(slow->others));
    return slow;
}

/// Compares the part of its steps that each rank did not wait for others: of ranks that end each step together, the
/// slow one waits least.
std::optional<Slow> slow_by_own_time(const RunFacts& run, bool* recorded) {
    const RankTimes own(run, [&](int rank) {
        Curve step = run.curve(series::step_time, rank);
        const Curve wait = run.curve(series::wait_time, rank);
        if (wait.size() != step.size()) return Curve();
        for (std::size_t i = 0; i < step.size(); ++i) step.values[i] -= wait.values[i];
        return step;
    });
    *recorded = own.of_all;
    // The ranks of a pipeline have unequal work; its operations tell more.
    if (run.plan.layout.pp > 1) return std::nullopt;
    auto slow = slowest_of(own.times, own.ranks, slower_in_own_time);
    if (!slow || slow->time - slow->others < least_difference) return std::nullopt;
    slow->words = fmt::format(
        "Of its last steps rank {} spent {} on work of its own (median, what it waited for others left out), the others {}.",
        slow->rank, format_seconds(slow->time), format_seconds(slow->others));
    return slow;
}

/// The time that a pipeline rank spent on its operations, plus the delay of its first operation after the input was
/// ready.
Seconds own_time(const PipelineSchedule& schedule, const Timeline& timeline, int rank) {
    const auto& ops = timeline.ranks[static_cast<std::size_t>(rank)];
    Seconds own = 0;
    for (const TimedOp& op : ops) own += op.end - op.start;
    if (ops.empty() || ops.front().op.kind != OpKind::Forward) return own;
    const TimedOp& first = ops.front();
    const int stage = schedule.stage_of(rank, first.op.chunk);
    Seconds input = 0;
    if (stage > 0)
        for (const TimedOp& op : timeline.ranks[static_cast<std::size_t>(schedule.rank_of(stage - 1))])
            if (op.op.kind == OpKind::Forward && op.op.micro_batch == first.op.micro_batch &&
                op.op.chunk == schedule.chunk_of(stage - 1))
                input = op.end;
    return own + std::max(first.start - input, 0.0);
}

/// Share of the work that each pipeline rank has by its FLOPs.
std::vector<double> expected_shares(const Plan& plan, const PipelineSchedule& schedule) {
    const StageTimes times = relative_stage_times(plan);
    std::vector<double> shares(static_cast<std::size_t>(schedule.ranks), 0);
    for (std::size_t stage = 0; stage < times.forward.size(); ++stage)
        shares[static_cast<std::size_t>(schedule.rank_of(static_cast<int>(stage)))] +=
            times.forward[stage] + times.backward_input[stage] + times.backward_weight[stage];
    return shares;
}

struct PipelineAnswer {
    std::optional<Slow> slow;
    int steps = 0;  ///< number of steps examined
};

PipelineAnswer slow_by_pipeline(const RunFacts& run) {
    PipelineAnswer answer;
    const Layout& l = run.plan.layout;
    const auto schedule = plan_schedule(run.plan);
    PipelineRecords records(run.run, run.plan);
    if (!schedule || !records.poll() || !records.last_step()) return answer;
    const auto shares = expected_shares(run.plan, *schedule);
    std::vector<std::vector<Seconds>> own(static_cast<std::size_t>(schedule->ranks));
    std::uint64_t step = *records.last_step();
    const auto every = static_cast<std::uint64_t>(std::max<std::int64_t>(run.plan.training.layer_norms_every, 1));
    for (int k = 0; k < most_pipeline_steps && step > 0; ++k) {
        if (const auto timeline = records.timeline(*schedule, step)) {
            ++answer.steps;
            for (int rank = 0; rank < schedule->ranks; ++rank)
                own[static_cast<std::size_t>(rank)].push_back(own_time(*schedule, *timeline, rank));
        }
        // The first step is recorded in addition to the multiples.
        step = step > every ? (step - 1) / every * every : 0;
    }
    if (answer.steps == 0) return answer;
    std::vector<Seconds> weighed;
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < own.size(); ++rank) {
        if (shares[rank] <= 0) return answer;
        // One step in which the machine was busy elsewhere does not make a rank slow.
        weighed.push_back(median(own[rank]) / shares[rank]);
        ranks.push_back(static_cast<int>(rank));
    }
    answer.slow = slowest_of(weighed, ranks, slower_in_pipeline);
    if (answer.slow) {
        const auto stage = static_cast<std::size_t>(answer.slow->rank);
        answer.slow->words = fmt::format(
            "In the median of {} that were recorded its operations took {}, {:.1f} times what its share of "
            "the work takes on the other stages.",
            steps_count(static_cast<std::size_t>(answer.steps)), format_seconds(median(own[stage])),
            answer.slow->ratio);
        answer.slow->rank *= static_cast<int>(l.tp * l.cp * l.dp);
    }
    return answer;
}

}  // namespace

void check_straggler(const RunFacts& run, Sheet& sheet) {
    const Layout& l = run.plan.layout;
    if (l.world_size() == 1) return sheet.fine("straggler", "one rank");
    auto slow = slow_by_steps(run);
    bool own_times = false;
    if (auto own = slow_by_own_time(run, &own_times); own && !slow) slow = std::move(own);
    PipelineAnswer piped;
    if (l.pp > 1) piped = slow_by_pipeline(run);
    if (!slow) slow = piped.slow;
    if (slow) {
        Finding finding{"straggler",
                        Severity::Warning,
                        "straggler",
                        fmt::format("Rank {} is {} slower than the others, which wait for it.", slow->rank,
                                    percent(slow->ratio - 1)),
                        {slow->words,
                         "Every rank waits for the slowest one in each step: look at that machine's load, "
                         "clocks and temperature, or leave it out."},
                        {},
                        "step times and pipeline operations by rank"};
        if (l.pp > 1 && l.split == Split::Even)
            finding.changes.push_back({{"layout.split=balanced"},
                                       "layers are dealt so that the slowest stage, embedding "
                                       "and head counted, is as fast as can be"});
        return sheet.found(std::move(finding));
    }
    if (piped.steps > 0)
        return sheet.fine("straggler", fmt::format("by the pipeline's operations in {}",
                                                   steps_count(static_cast<std::size_t>(piped.steps))));
    if (run.curve(series::step_time).size() < least_straggler_steps)
        return sheet.unknown("straggler", fmt::format("fewer than {} steps are recorded", least_straggler_steps));
    if (own_times && l.pp == 1) {
        return sheet.fine("straggler", "what ranks spend on work of their own is alike");
    }
    sheet.unknown("straggler",
                  "ranks that share gradients end each step together, so their step times are alike "
                  "whoever is slow; only a pipeline records each rank's own work");
}

}  // namespace plimsoll::doctor
