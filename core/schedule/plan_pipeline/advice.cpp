// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/advice.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/schedule/check_schedule.h"
#include "core/schedule/plan_partition.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

/// The times of each rank, spread over the stages that it holds under another schedule.
StageTimes spread(const Pipeline& given, Schedule kind, int chunks) {
    const auto ranks = given.schedule.ranks;
    const PipelineSchedule where{ranks, 1, chunks, placement_of(kind), {}};
    StageTimes times = StageTimes::uniform(ranks * chunks, 0, 0, 0);
    const auto fill = [&](std::vector<Seconds>& to, const std::vector<Seconds>& from) {
        std::vector<Seconds> of_rank(static_cast<std::size_t>(ranks));
        for (std::size_t s = 0; s < from.size(); ++s)
            of_rank[static_cast<std::size_t>(given.schedule.rank_of(static_cast<int>(s)))] += from[s];
        for (std::size_t s = 0; s < to.size(); ++s)
            to[s] = of_rank[static_cast<std::size_t>(where.rank_of(static_cast<int>(s)))] / chunks;
    };
    fill(times.forward, given.times.forward);
    fill(times.backward_input, given.times.backward_input);
    fill(times.backward_weight, given.times.backward_weight);
    if (!given.times.send.empty()) {
        const auto sum = std::accumulate(given.times.send.begin(), given.times.send.end(), 0.0);
        std::fill(times.send.begin(), times.send.end(), sum / static_cast<double>(given.times.send.size()));
    }
    return times;
}

Alternative alternative(Plan plan, Schedule kind, const Pipeline* given) {
    plan.layout.schedule = kind;
    plan.layout.schedule_file.clear();
    plan.layout.chunks = std::max<std::int64_t>(plan.layout.chunks, 2);
    const auto stages = plan.layout.pp * chunks_per_rank(plan);
    if (stages > plan.model.num_layers)
        return alternative_of(kind, bad_input("{} stages are more than the {} layers", stages, plan.model.num_layers));
    if (!given) return alternative_of(kind, simulate_pipeline(plan));
    const int chunks = static_cast<int>(chunks_per_rank(plan));
    const bool same = kind == given->kind && chunks == given->schedule.chunks;
    return alternative_of(kind, simulate_pipeline(kind, {given->schedule.ranks, given->schedule.micro_batches, chunks},
                                                  same ? given->times : spread(*given, kind, chunks)));
}

/// Beyond this the bubble is not worth simulating again.
constexpr int most_micro_batches = 2048;

Advice layers_advice(const Plan& plan) {
    const auto layers = layers_per_stage(plan);
    const auto [fewest, most] = std::minmax_element(layers.begin(), layers.end());
    if (*fewest >= 4)
        return {true,
                fmt::format("{} layers a stage: with 4 to 8 or more the sends between stages weigh little.",
                            *fewest == *most ? fmt::format("{}", *most) : fmt::format("{} to {}", *fewest, *most))};
    return {false,
            fmt::format(
                "A stage holds as few as {} layer{}; with 4 to 8 or more the sends between stages weigh less{}.",
                *fewest, *fewest == 1 ? "" : "s",
                plan.model.num_layers >= 8 ? fmt::format(" (layout.pp {} or fewer)", plan.model.num_layers / 4) : "")};
}

Advice stages_advice(const Layout& layout) {
    if (layout.pp <= 8) return {true, fmt::format("{} stages: up to 8 are easy to keep busy.", layout.pp)};
    return {false,
            fmt::format("{} stages are many: with 8 or fewer the bubble and the imbalance of the ends are smaller.",
                        layout.pp)};
}

Advice micro_batch_advice(const Layout& layout, const Pipeline& pipeline) {
    const auto& schedule = pipeline.schedule;
    auto text = layout.accumulation < layout.pp
                    ? fmt::format("{} micro-batches cannot fill {} stages: some rank always waits", layout.accumulation,
                                  layout.pp)
                    : fmt::format("{} micro-batches over {} stages leave a bubble of {:.1f} %", layout.accumulation,
                                  layout.pp, 100 * pipeline.timeline.bubble);
    if (schedule.micro_batches <= most_micro_batches / 2)
        if (const auto doubled = simulate_pipeline(
                pipeline.kind, {schedule.ranks, 2 * schedule.micro_batches, schedule.chunks}, pipeline.times))
            text += fmt::format("; with {} (layout.accumulation) it would be {:.1f} %", 2 * layout.accumulation,
                                100 * doubled->timeline.bubble);
    return {layout.accumulation >= 4 * layout.pp, text + "."};
}

Advice balance_advice(const Plan& plan) {
    const auto mine = partition_of(plan);
    const auto slowest = fmt::format("The slowest stage takes {:.0f} % more than the mean", 100 * mine.imbalance);
    const auto best = balanced_partition(plan);
    if (!best || mine.imbalance <= best->imbalance + 0.02)
        return {mine.imbalance < 0.1, slowest + ", and no other split of the layers is better."};
    return {false, fmt::format("{}; layers split {} would bring that to {:.0f} % (layout.split balanced).", slowest,
                               fmt::join(best->layers, " "), 100 * best->imbalance)};
}

}  // namespace

Alternative alternative_of(Schedule kind, const Result<Pipeline>& pipeline) {
    Alternative other;
    other.kind = kind;
    if (!pipeline) {
        other.reason = pipeline.error().message;
        return other;
    }
    other.possible = true;
    other.bubble = pipeline->timeline.bubble;
    other.bubble_per_rank = pipeline->timeline.bubble_per_rank;
    other.step = pipeline->timeline.makespan;
    other.peak_micro_batches = peak_micro_batches(pipeline->schedule);
    return other;
}

std::vector<Alternative> alternatives(const Plan& plan) {
    std::vector<Alternative> all;
    if (plan.layout.pp < 2) return all;
    for (std::size_t k = 0; k < schedule_names.size(); ++k)
        all.push_back(alternative(plan, static_cast<Schedule>(k), nullptr));
    return all;
}

std::vector<Alternative> alternatives(const Plan& plan, const Pipeline& pipeline) {
    std::vector<Alternative> all;
    if (plan.layout.pp < 2) return all;
    for (std::size_t k = 0; k < schedule_names.size(); ++k)
        all.push_back(alternative(plan, static_cast<Schedule>(k), &pipeline));
    return all;
}

std::vector<Advice> shape_advice(const Plan& plan, const Pipeline& pipeline) {
    if (plan.layout.pp < 2) return {};
    std::vector<Advice> advice{layers_advice(plan), stages_advice(plan.layout),
                               micro_batch_advice(plan.layout, pipeline)};
    if (pipeline.times == relative_stage_times(plan)) advice.push_back(balance_advice(plan));
    return advice;
}

std::vector<Advice> schedule_advice(const Pipeline& pipeline, const std::vector<Alternative>& others) {
    if (pipeline.schedule.ranks < 2) return {};
    const Alternative* best = nullptr;
    for (const auto& other : others)
        if (other.possible && (other.kind != pipeline.kind || !pipeline.file.empty()) &&
            (!best || other.step < best->step))
            best = &other;
    if (!best || best->step > 0.98 * pipeline.timeline.makespan) return {};
    const double mine = peak_micro_batches(pipeline.schedule), theirs = best->peak_micro_batches;
    const std::string memory =
        std::abs(theirs - mine) < 0.01 * mine
            ? std::string("as many activations on the most loaded rank")
            : fmt::format("activations of {:.3g} micro-batches on the most loaded rank in place of {:.3g}", theirs,
                          mine);
    return {{false, fmt::format("{} would shorten the step by {:.1f} % and keep {}.", schedule_title(best->kind),
                                100 * (1 - best->step / pipeline.timeline.makespan), memory)}};
}

std::string why_not_closed_form(const Pipeline& pipeline) {
    if (!pipeline.closed_form) return "";
    const auto& form = *pipeline.closed_form;
    const bool per_rank = splits_backward(pipeline.schedule);
    const double simulated = per_rank ? pipeline.timeline.bubble_per_rank : pipeline.timeline.bubble;
    if (std::abs(simulated - form.bubble) < 0.0005) return "";
    const auto& times = pipeline.times;
    const auto differ = [](const std::vector<Seconds>& list) {
        const auto [least, most] = std::minmax_element(list.begin(), list.end());
        return *most > *least * 1.001 + 1e-12;
    };
    std::vector<std::string> reasons;
    if (differ(times.forward) || differ(times.backward_input) || differ(times.backward_weight))
        reasons.push_back("the stages are not equal");
    if (std::any_of(times.send.begin(), times.send.end(), [](Seconds t) { return t > 0; }))
        reasons.push_back("sends take time");
    if (pipeline.schedule.micro_batches % pipeline.schedule.ranks != 0 && pipeline.schedule.chunks > 1)
        reasons.push_back("the micro-batches do not come in whole rounds");
    if (pipeline.schedule.micro_batches < pipeline.schedule.ranks)
        reasons.push_back("there are fewer micro-batches than ranks");
    if (reasons.empty()) reasons.push_back("the form stands for many micro-batches and F = B = W");
    return fmt::format("The closed form differs because {}.", fmt::join(reasons, " and "));
}

}  // namespace plimsoll
