// SPDX-License-Identifier: Apache-2.0
#include "core/planner/space.h"

#include <algorithm>
#include <functional>

#include "core/plan/adapter.h"
#include "core/plan/recompute_rules.h"
#include "core/plan/schedule_kind.h"
#include "core/planner/framework_rules.h"
#include "core/schedule/schedule.h"

namespace plimsoll {

namespace {

template <class Value>
bool allowed(const std::vector<Value>& choices, Value value) {
    return choices.empty() || std::find(choices.begin(), choices.end(), value) != choices.end();
}

bool tensor_possible(const Model& model, std::int64_t tp) {
    return model.num_heads % tp == 0 && (model.num_kv_heads % tp == 0 || tp % model.num_kv_heads == 0) &&
           model.ffn_hidden_size % tp == 0;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t number) {
    std::vector<std::int64_t> low, high;
    for (std::int64_t d = 1; d * d <= number; ++d) {
        if (number % d != 0) continue;
        low.push_back(d);
        if (d * d != number) high.push_back(number / d);
    }
    low.insert(low.end(), high.rbegin(), high.rend());
    return low;
}

std::int64_t global_batch_of(const PlanRequest& request) {
    return request.global_batch > 0 ? request.global_batch : request.plan.layout.global_batch();
}

Cluster part_of(Cluster cluster, std::int64_t gpus) {
    if (gpus >= cluster.world_size()) return cluster;
    cluster.gpus_per_node = std::min(gpus, cluster.gpus_per_node);
    cluster.nodes = gpus / cluster.gpus_per_node;
    return cluster;
}

std::vector<std::int64_t> gpu_counts(const Cluster& cluster, bool fewer) {
    const auto all = cluster.world_size();
    if (!fewer) return {all};
    std::vector<std::int64_t> counts;
    for (std::int64_t n = 1; n < cluster.gpus_per_node; n *= 2) counts.push_back(n);
    for (std::int64_t nodes = 1; nodes <= cluster.nodes; nodes = nodes < 16 ? nodes + 1 : nodes * 2)
        counts.push_back(nodes * cluster.gpus_per_node);
    if (counts.empty() || counts.back() != all) counts.push_back(all);
    return counts;
}

std::vector<Division> divisions(const PlanRequest& request, std::int64_t gpus, std::int64_t global_batch) {
    const auto& choices = request.choices;
    const auto& model = request.plan.model;
    const auto length = request.plan.data.sequence_length;
    std::vector<Division> all;
    for (const auto tp : divisors(gpus)) {
        if (!allowed(choices.tp, tp) || !tensor_possible(model, tp)) continue;
        for (const auto pp : divisors(gpus / tp)) {
            if (!allowed(choices.pp, pp) || pp > model.num_layers || (pp > 1 && model.encoder_decoder())) continue;
            for (const auto cp : divisors(gpus / tp / pp)) {
                if (!allowed(choices.cp, cp) || length % cp != 0 || (cp > 1 && model.encoder_decoder())) continue;
                const auto dp = gpus / tp / pp / cp;
                if (global_batch % dp != 0) continue;
                for (const auto ep : model.moe() ? divisors(dp) : std::vector<std::int64_t>{1})
                    if (allowed(choices.ep, ep) && (ep == 1 || model.num_experts % ep == 0))
                        all.push_back({gpus, tp, pp, cp, ep, dp});
            }
        }
    }
    return all;
}

std::vector<ScheduleChoice> schedule_choices(const PlanRequest& request, const Division& division) {
    const auto& choices = request.choices;
    const auto layers = request.plan.model.num_layers;
    if (division.pp == 1) return {{Schedule::OneFOneB, 1}};
    std::vector<ScheduleChoice> all;
    for (std::size_t i = 0; i < schedule_names.size(); ++i) {
        const auto kind = static_cast<Schedule>(i);
        const bool searched = kind == Schedule::Zb1p || kind == Schedule::Zb2p;
        if (choices.schedule.empty() ? searched : !allowed(choices.schedule, kind)) continue;
        if (!takes_chunks(kind)) {
            const auto chunks = chunks_of(kind, 1);
            if (division.pp * chunks <= layers) all.push_back({kind, chunks});
            continue;
        }
        const auto most = layers / division.pp;
        for (std::int64_t chunks = 2; chunks <= most; ++chunks) {
            const bool even = layers % (division.pp * chunks) == 0 || (layers % division.pp != 0 && chunks == most);
            if (choices.chunks.empty() ? even : allowed(choices.chunks, chunks)) all.push_back({kind, chunks});
        }
    }
    return all;
}

std::vector<ZeroChoice> zero_choices(const PlanRequest& request, const Division& division) {
    const auto& choices = request.choices;
    std::vector<ZeroChoice> all;
    const bool cpu = request.plan.cluster.on_cpu();
    for (std::int64_t stage = 0; stage <= (division.pp > 1 ? 1 : most_zero_stage(request.plan)); ++stage) {
        if (!allowed(choices.zero_stage, stage)) continue;
        for (const auto offload : {Offload::None, Offload::Cpu, Offload::Nvme}) {
            if (choices.offload_optimizer.empty() ? offload == Offload::Nvme
                                                  : !allowed(choices.offload_optimizer, offload))
                continue;
            if (offload != Offload::None && stage == 0) continue;
            if (offload == Offload::Cpu && cpu) continue;
            if (offload == Offload::Nvme && (request.plan.layout.nvme_path.empty() || (!cpu && stage < 3))) continue;
            all.push_back({stage, offload});
        }
    }
    return all;
}

std::vector<std::int64_t> micro_batch_choices(const PlanRequest& request, const Division& division,
                                              std::int64_t global_batch) {
    auto all = divisors(global_batch / division.dp);
    std::erase_if(all, [&](std::int64_t b) { return !allowed(request.choices.micro_batch, b); });
    return all;
}

std::vector<bool> sequence_choices(const PlanRequest& request, const Division& division) {
    std::vector<bool> all;
    const bool splits = division.tp > 1 && request.plan.data.sequence_length % (division.cp * division.tp) == 0;
    for (const bool on : {false, true})
        if ((!on || splits) && allowed(request.choices.sequence_parallel, on)) all.push_back(on);
    // Without tensor parallelism, a choice of sequence parallelism excludes nothing.
    if (all.empty() && division.tp == 1) all.push_back(false);
    return all;
}

std::vector<Recompute> recompute_choices(const PlanRequest& request) {
    const bool flash = request.plan.numerics.attention == Attention::Flash;
    std::vector<Recompute> all;
    for (std::size_t i = 0; i < recompute_names.size(); ++i) {
        const auto mode = static_cast<Recompute>(i);
        if (mode == Recompute::Mlp && !knows_recompute_mlp(request.plan)) continue;
        if (request.choices.recompute.empty() ? !(flash && mode == Recompute::Selective)
                                              : allowed(request.choices.recompute, mode))
            all.push_back(mode);
    }
    return all;
}

bool schedule_possible(const ScheduleChoice& choice, std::int64_t pp, std::int64_t micro_batches) {
    if (choice.schedule == Schedule::DualPipeV && pp > 1 && micro_batches < 2 * pp) return false;
    const std::int64_t kinds = splits_backward(choice.schedule) ? 3 : 2;
    return micro_batches <= max_schedule_ops / (kinds * pp * choice.chunks);
}

Layout layout_of(const PlanRequest& request, const Division& division, const ScheduleChoice& schedule,
                 const ZeroChoice& zero, bool sequence_parallel, std::int64_t micro_batch, std::int64_t global_batch,
                 Recompute recompute) {
    Layout layout = request.plan.layout;
    layout.schedule_file.clear();
    layout.tp = division.tp, layout.pp = division.pp, layout.cp = division.cp, layout.ep = division.ep;
    layout.dp = division.dp;
    layout.sequence_parallel = sequence_parallel;
    layout.zero_stage = zero.stage;
    layout.offload_optimizer = zero.offload;
    layout.schedule = schedule.schedule;
    if (takes_chunks(schedule.schedule)) layout.chunks = schedule.chunks;
    layout.micro_batch = micro_batch;
    layout.accumulation = global_batch / division.dp / micro_batch;
    layout.recompute = recompute;
    if (recompute != Recompute::Full) layout.recompute_every = 1;
    if (recompute == Recompute::None || layout.recompute_stages > layout.pp) layout.recompute_stages = 0;
    if (zero.stage < 3) layout.offload_parameters = Offload::None;
    return layout;
}

std::vector<Layout> all_layouts(const PlanRequest& request, std::int64_t gpus) {
    const auto batch = global_batch_of(request);
    std::vector<Layout> all;
    const auto add = [&](const Layout& layout) {
        if (!refusal_of(request.framework, request.plan, layout)) all.push_back(layout);
    };
    for (const auto& division : divisions(request, gpus, batch))
        for (const auto& schedule : schedule_choices(request, division))
            for (const auto& zero : zero_choices(request, division))
                for (const bool sequence : sequence_choices(request, division))
                    for (const auto micro_batch : micro_batch_choices(request, division, batch))
                        if (schedule_possible(schedule, division.pp, batch / division.dp / micro_batch))
                            for (const auto recompute : recompute_choices(request))
                                add(layout_of(request, division, schedule, zero, sequence, micro_batch, batch,
                                              recompute));
    return all;
}

}  // namespace plimsoll
