// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/step_time.h"

#include <algorithm>
#include <numeric>

#include "core/plan/adapter.h"
#include "core/plan/parameters.h"
#include "core/plan/recompute_rules.h"
#include "core/schedule/layer_flops.h"
#include "core/schedule/plan_pipeline/plan_pipeline.h"
#include "core/schedule/stage_times.h"
#include "core/step_time/layer_time.h"
#include "core/step_time/step_timer.h"

namespace plimsoll {

StepFlops step_flops(const Plan& plan, bool causal) {
    Plan whole = plan;
    whole.numerics.attention = causal ? Attention::Flash : Attention::Eager;
    const auto decoder = layer_flops(whole, true), encoder = layer_flops(whole, false);
    const auto& l = plan.layout;
    const double tokens = as_double(l.global_batch()) * as_double(plan.data.sequence_length);
    const auto layers = plan.model.num_layers;
    const auto encoders = plan.model.encoder_decoder() ? layers : 0;
    const double head = 2 * as_double(plan.model.hidden_size) * as_double(plan.model.vocab_size);
    StepFlops flops;
    const double matrices = as_double(layers) * decoder.rest + as_double(encoders) * encoder.rest + head;
    const double cores = as_double(layers) * decoder.attention_core + as_double(encoders) * encoder.attention_core;
    // Frozen weights beside adapters have no gradients: one backward product instead of two.
    flops.model = tokens * ((adapts(plan) ? 2 : 3) * matrices + 3 * cores + 6 * as_double(adapter_parameters(plan)));
    double recomputed = 0;
    for (std::int64_t layer = 0; layer < layers + encoders; ++layer) {
        const auto mode = recompute_of(l, layer, layer * l.pp / std::max<std::int64_t>(layers + encoders, 1));
        recomputed += recomputed_flops(layer < encoders ? encoder : decoder, mode);
    }
    flops.again = tokens * recomputed;
    return flops;
}

Seconds StepTime::total() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }

StageTimes stage_seconds(const Plan& plan, const Hardware& hardware) {
    const auto decoder = layer_time(plan, hardware, true);
    const auto encoder = plan.model.encoder_decoder() ? layer_time(plan, hardware, false) : LayerTime{};
    const auto ends = ends_time(plan, hardware);
    const auto& l = plan.layout;
    const auto layers = layers_per_stage(plan);
    const auto where = stages_on_ranks(plan);
    const auto all_encoders = plan.model.encoder_decoder() ? plan.model.num_layers : 0;
    StageTimes times;
    std::int64_t first = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        const auto encoders = std::clamp<std::int64_t>(all_encoders - first, 0, layers[stage]);
        const auto decoders = layers[stage] - encoders;
        const auto rank = where.rank_of(static_cast<int>(stage));
        const auto again = [&](const LayerTime& layer, std::int64_t from, std::int64_t count) {
            return as_double(recomputed_layers(l, from, count, rank)) *
                   layer.again[static_cast<std::size_t>(l.recompute)];
        };
        const auto of = [&](auto&& part) {
            return as_double(encoders) * part(encoder) + as_double(decoders) * part(decoder);
        };
        Seconds forward = of([](const LayerTime& t) { return t.forward.total(); });
        Seconds input = of([](const LayerTime& t) { return t.backward_input.total(); }) +
                        again(encoder, first, encoders) + again(decoder, first + encoders, decoders);
        Seconds weight = of([](const LayerTime& t) { return t.backward_weight.total(); });
        if (stage == 0) {
            forward += ends.embedding.total();
            weight += ends.embedding_backward.total();
        }
        if (stage + 1 == layers.size()) {
            forward += ends.head.total();
            input += ends.head_input.total();
            weight += ends.head_weight.total();
        }
        first += layers[stage];
        times.forward.push_back(forward);
        times.backward_input.push_back(input);
        times.backward_weight.push_back(weight);
    }
    if (layers.size() > 1) times.send.assign(layers.size() - 1, stage_send_time(plan, hardware));
    return times;
}

Result<StepReport> step_time(const Plan& plan, const Hardware& hardware, bool simulated) {
    StepReport report;
    report.hardware = hardware;
    report.time = StepTimer(plan, hardware).time(plan.layout);
    if (plan.layout.pp > 1 && (simulated || !plan.layout.schedule_file.empty())) {
        PLIMSOLL_TRY(const auto pipeline, simulate_pipeline(plan, stage_seconds(plan, hardware)));
        auto& bubble = report.time.of(TimePart::Bubble);
        const auto& busy = pipeline.timeline.busy;
        bubble = std::max(0.0, pipeline.timeline.makespan - *std::max_element(busy.begin(), busy.end()) -
                                   report.time.of(TimePart::Pipeline));
    }
    report.step = report.time.total();
    const auto flops = step_flops(plan);
    report.tokens = as_double(plan.layout.global_batch()) * as_double(plan.data.sequence_length);
    const double peak = hardware.peak * as_double(plan.layout.world_size());
    if (report.step > 0) {
        report.tokens_per_second = report.tokens / report.step;
        report.mfu = flops.model / report.step / peak;
        report.hfu = (flops.model + flops.again) / report.step / peak;
        report.bubble = report.time.of(TimePart::Bubble) / report.step;
    }
    return report;
}

Result<StepReport> step_time(const Plan& plan) {
    PLIMSOLL_TRY(const auto hardware, hardware_of(plan.cluster, plan.numerics.dtype));
    return step_time(plan, hardware, true);
}

Budget budget_of(const StepReport& report, std::int64_t ranks, double tokens, double price_per_gpu_hour) {
    Budget budget;
    budget.tokens = tokens;
    if (report.tokens <= 0) return budget;
    budget.steps = tokens / report.tokens;
    budget.time = budget.steps * report.step;
    budget.gpu_hours = budget.time * as_double(ranks) / 3600;
    budget.price = budget.gpu_hours * price_per_gpu_hour;
    return budget;
}

Json to_json(const StepTime& time) {
    Json parts = Json::object();
    for (std::size_t i = 0; i < time_part_names.size(); ++i) parts[std::string(time_part_names[i])] = time.parts[i];
    return parts;
}

Json to_json(const StepReport& report) {
    return {{"step_seconds", report.step},
            {"tokens", report.tokens},
            {"tokens_per_second", report.tokens_per_second},
            {"mfu", report.mfu},
            {"hfu", report.hfu},
            {"bubble", report.bubble},
            {"seconds", to_json(report.time)},
            {"rates", report.hardware.source}};
}

}  // namespace plimsoll
