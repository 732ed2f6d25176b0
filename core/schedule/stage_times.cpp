// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/stage_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/plan/adapter.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/layer_flops.h"
#include "core/schedule/plan_partition.h"
#include "core/schedule/schedule.h"

namespace plimsoll {
StageTimes StageTimes::uniform(int stages, Seconds forward, Seconds backward_input, Seconds backward_weight,
                               Seconds send) {
    const auto count = static_cast<std::size_t>(std::max(stages, 0));
    StageTimes times{std::vector<Seconds>(count, forward),
                     std::vector<Seconds>(count, backward_input),
                     std::vector<Seconds>(count, backward_weight),
                     {}};
    if (count > 1) times.send.assign(count - 1, send);
    return times;
}

Result<void> check_times(const StageTimes& times, int stages) {
    const auto count = static_cast<std::size_t>(std::max(stages, 0));
    if (times.forward.size() != count || times.backward_input.size() != count || times.backward_weight.size() != count)
        return bad_input(
            "{} stages need {} times of each kind, not {} forward, {} input backward and {} weight backward", stages,
            stages, times.forward.size(), times.backward_input.size(), times.backward_weight.size());
    if (!times.send.empty() && times.send.size() + 1 != count)
        return bad_input("{} stages have {} links between them, not {}; give one send time a link", stages, stages - 1,
                         times.send.size());
    const auto usable = [](Seconds t) { return std::isfinite(t) && t >= 0; };
    for (std::size_t s = 0; s < count; ++s)
        if (!usable(times.forward[s]) || !usable(times.backward_input[s]) || !usable(times.backward_weight[s]))
            return bad_input(
                "stage {} takes {} s forward, {} s input backward and {} s weight backward; times must be finite and 0 or more",
                s, times.forward[s], times.backward_input[s], times.backward_weight[s]);
    for (std::size_t s = 0; s < times.send.size(); ++s)
        if (!usable(times.send[s]))
            return bad_input("the send between stages {} and {} takes {} s; times must be finite and 0 or more", s,
                             s + 1, times.send[s]);
    return {};
}

std::vector<std::int64_t> layers_per_stage(const Plan& plan) {
    const auto stages = std::max<std::int64_t>(plan.layout.pp, 1) * chunks_per_rank(plan);
    if (plan.layout.split == Split::Balanced && stages > 1)
        if (auto best = balanced_partition(plan)) return std::move(best->layers);
    const auto layers = plan.model.encoder_decoder() ? 2 * plan.model.num_layers : plan.model.num_layers;
    std::vector<std::int64_t> split(static_cast<std::size_t>(stages), layers / stages);
    for (std::int64_t stage = 0; stage < layers % stages; ++stage) ++split[static_cast<std::size_t>(stage)];
    return split;
}

std::int64_t chunks_per_rank(const Plan& plan) {
    if (plan.layout.pp <= 1) return 1;
    return chunks_of(plan.layout.schedule, std::clamp<std::int64_t>(plan.layout.chunks, 1, 1 << 20));
}

PipelineSchedule stages_on_ranks(const Plan& plan) {
    return {static_cast<int>(std::max<std::int64_t>(plan.layout.pp, 1)),
            1,
            static_cast<int>(chunks_per_rank(plan)),
            plan.layout.pp > 1 ? placement_of(plan.layout.schedule) : Placement::Loop,
            {}};
}

std::vector<std::int64_t> layers_per_rank(const Plan& plan) {
    const auto layers = layers_per_stage(plan);
    const auto where = stages_on_ranks(plan);
    std::vector<std::int64_t> on_rank(static_cast<std::size_t>(where.ranks));
    for (std::size_t stage = 0; stage < layers.size(); ++stage)
        on_rank[static_cast<std::size_t>(where.rank_of(static_cast<int>(stage)))] += layers[stage];
    return on_rank;
}

std::int64_t head_rank(const Plan& plan) {
    const auto where = stages_on_ranks(plan);
    return where.placement == Placement::V ? 0 : where.ranks - 1;
}

StageTimes relative_stage_times(const Plan& plan) { return relative_stage_times(plan, layers_per_stage(plan)); }

StageTimes relative_stage_times(const Plan& plan, const std::vector<std::int64_t>& layers) {
    const auto decoder = layer_flops(plan, true), encoder = layer_flops(plan, false);
    const auto encoder_layers = plan.model.encoder_decoder() ? plan.model.num_layers : 0;
    const double head = 2 * static_cast<double>(plan.model.hidden_size) * static_cast<double>(plan.model.vocab_size);

    // Frozen weights beside adapters have no gradients.
    const double adapters =
        2 * static_cast<double>(adapter_parameters(plan)) / static_cast<double>(plan.model.num_layers);

    const auto where = stages_on_ranks(plan);

    StageTimes times;
    double all_layers = 0;
    std::int64_t first = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        const auto encoders = std::clamp<std::int64_t>(encoder_layers - first, 0, layers[stage]);
        const auto decoders = layers[stage] - encoders;
        const auto rank = where.rank_of(static_cast<int>(stage));
        const auto again = static_cast<double>(recomputed_layers(plan.layout, first, encoders, rank)) *
                               recomputed_flops(encoder, plan.layout.recompute) +
                           static_cast<double>(recomputed_layers(plan.layout, first + encoders, decoders, rank)) *
                               recomputed_flops(decoder, plan.layout.recompute);
        first += layers[stage];
        const auto of_layers = [&](double one_encoder, double one_decoder) {
            return static_cast<double>(encoders) * one_encoder + static_cast<double>(decoders) * one_decoder;
        };
        const double scores = of_layers(encoder.attention_core, decoder.attention_core);
        const double weights = of_layers(encoder.rest, decoder.rest) + (stage + 1 == layers.size() ? head : 0);
        const double added = static_cast<double>(decoders) * adapters;
        times.forward.push_back(weights + added + scores);
        times.backward_input.push_back(weights + added + 2 * scores + again);
        times.backward_weight.push_back(adapts(plan) ? added : weights);
        all_layers += of_layers(encoder.total(), decoder.total());
    }
    const double rank_layers = all_layers / static_cast<double>(std::max<std::int64_t>(plan.layout.pp, 1));
    for (auto* list : {&times.forward, &times.backward_input, &times.backward_weight})
        for (auto& time : *list) time /= rank_layers > 0 ? rank_layers : 1;
    if (layers.size() > 1) times.send.assign(layers.size() - 1, 0);
    return times;
}

}  // namespace plimsoll
