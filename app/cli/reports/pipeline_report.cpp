// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/pipeline_report.h"

#include <algorithm>
#include <array>

#include "app/cli/terminal/terminal.h"
#include "core/schedule/plan_partition.h"
#include "core/schedule/plan_pipeline/advice.h"
#include "core/schedule/plan_pipeline/memory_curve.h"
#include "core/schedule/stage_times.h"

namespace plimsoll::cli {

namespace {

std::string headline(const Pipeline& pipeline) {
    const auto& s = pipeline.schedule;
    auto text = fmt::format("{}: {} ranks{}, {} micro-batches\n", pipeline_title(pipeline), s.ranks,
                            s.chunks > 1 ? fmt::format(" x {} chunks", s.chunks) : "", s.micro_batches);
    text = bold(text);
    text += fmt::format("Bubble {:.2f} % of the step", 100 * pipeline.timeline.bubble);
    if (splits_backward(s))
        text += fmt::format(" ({:.2f} % where a rank may begin its next step early)",
                            100 * pipeline.timeline.bubble_per_rank);
    if (pipeline.closed_form)
        text += fmt::format("; closed form {} = {:.2f} % ({})", pipeline.closed_form->formula,
                            100 * pipeline.closed_form->bubble, pipeline.closed_form->source);
    text += "\n";
    if (const auto why = why_not_closed_form(pipeline); !why.empty()) text += why + "\n";
    return text;
}

std::string rank_lines(const Plan& plan, const Pipeline& pipeline) {
    const auto memory = memory_curve(pipeline.schedule, pipeline.timeline);
    const auto layers = layers_per_rank(plan);
    auto text = fmt::format("\n  {:>5} {:>7} {:>8} {:>12}\n", "rank", "layers", "idle", "activations");
    for (std::size_t rank = 0; rank < memory.peak.size(); ++rank)
        text += fmt::format("  {:>5} {:>7} {:>6.1f} % {:>6.3g} micro-batches\n", rank, layers[rank],
                            100 * pipeline.timeline.idle[rank] / std::max(pipeline.timeline.makespan, 1e-300),
                            memory.peak[rank]);
    return text;
}

std::string other_lines(const Pipeline& pipeline, const std::vector<Alternative>& others) {
    auto text = fmt::format("\n  {:<17} {:>8} {:>10} {:>12}\n", "schedule", "bubble", "step", "activations");
    for (const auto& other : others) {
        if (other.possible)
            text +=
                fmt::format("{} {:<17} {:>6.2f} % {:>8.1f} % {:>6.3g} micro-batches\n",
                            other.kind == pipeline.kind && pipeline.file.empty() ? ">" : " ",
                            schedule_title(other.kind), 100 * other.bubble,
                            100 * other.step / std::max(pipeline.timeline.makespan, 1e-300), other.peak_micro_batches);
        else
            text += fmt::format("  {:<17} not possible: {}\n", schedule_title(other.kind), other.reason);
    }
    return text;
}

}  // namespace

std::string pipeline_report(const Plan& plan, const Pipeline& pipeline) {
    auto text = headline(pipeline) + rank_lines(plan, pipeline);
    if (plan.layout.pp < 2) return text;
    const bool own_times = pipeline.times == relative_stage_times(plan);
    const auto others = own_times ? alternatives(plan) : alternatives(plan, pipeline);
    text += other_lines(pipeline, others);
    auto advice = shape_advice(plan, pipeline);
    for (auto& more : schedule_advice(pipeline, others)) advice.push_back(std::move(more));
    for (const auto& one : advice)
        if (!one.good) text += fmt::format("\n{}", one.words);
    return text + "\n";
}

Json pipeline_json(const Plan& plan, const Pipeline& pipeline) {
    const auto& schedule = pipeline.schedule;
    const auto& timeline = pipeline.timeline;
    const auto memory = memory_curve(schedule, timeline);
    Json json{{"schedule", name_of(pipeline.kind)},
              {"ranks", Json::array()},
              {"micro_batches", schedule.micro_batches},
              {"chunks", schedule.chunks},
              {"makespan", timeline.makespan},
              {"bubble", timeline.bubble},
              {"bubble_per_rank", timeline.bubble_per_rank}};
    if (!pipeline.file.empty()) json["file"] = pipeline.file;
    if (pipeline.closed_form)
        json["closed_form"] = {{"bubble", pipeline.closed_form->bubble},
                               {"formula", pipeline.closed_form->formula},
                               {"source", pipeline.closed_form->source}};
    const auto layers = layers_per_stage(plan);
    const auto mine = partition_of(plan);
    for (std::size_t stage = 0; stage < layers.size(); ++stage)
        json["stages"].push_back({{"rank", schedule.rank_of(static_cast<int>(stage))},
                                  {"layers", layers[stage]},
                                  {"forward", pipeline.times.forward[stage]},
                                  {"backward_input", pipeline.times.backward_input[stage]},
                                  {"backward_weight", pipeline.times.backward_weight[stage]}});
    json["layers_imbalance"] = mine.imbalance;
    if (const auto best = balanced_partition(plan))
        json["balanced"] = {{"layers", best->layers}, {"layers_imbalance", best->imbalance}};
    constexpr std::array kinds{"forward", "backward", "backward_input", "backward_weight"};
    for (std::size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
        Json ops = Json::array();
        for (const auto& timed : timeline.ranks[rank])
            ops.push_back({{"kind", kinds[static_cast<std::size_t>(timed.op.kind)]},
                           {"micro_batch", timed.op.micro_batch},
                           {"chunk", timed.op.chunk},
                           {"stage", schedule.stage_of(static_cast<int>(rank), timed.op.chunk)},
                           {"start", timed.start},
                           {"end", timed.end}});
        json["ranks"].push_back({{"busy", timeline.busy[rank]},
                                 {"idle", timeline.idle[rank]},
                                 {"peak_micro_batches", memory.peak[rank]},
                                 {"ops", std::move(ops)}});
    }
    return json;
}

}  // namespace plimsoll::cli
