// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/estimate.h"

#include <algorithm>

#include "core/estimate/deepspeed_terms.h"
#include "core/estimate/terms.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/schedule/plan_pipeline/in_flight.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

/// Each stage is written out with its formulas; with more stages the answer would be slow to make and useless to read.
constexpr std::int64_t most_stages = 4096;

Count sum(const std::vector<Term>& terms) {
    Count bytes;
    for (const auto& term : terms) bytes += term.bytes;
    return bytes;
}

RankMemory rank_memory(const Plan& plan, const LayerActivations& layer, const Slice& slice, std::int64_t alive,
                       EngineBuffers engine, std::optional<StepLoop> loop) {
    const auto& layout = plan.layout;
    RankMemory rank;
    rank.stage = static_cast<int>(slice.rank);
    rank.label = layout.pp == 1 ? "Every rank" : fmt::format("Stage {}", slice.rank);
    rank.ranks = layout.dp * layout.tp * layout.cp;
    rank.layers = slice.layers;
    rank.parameters = slice.total.value();
    rank.alive = alive;
    rank.chunks = chunks_per_rank(plan);
    const InFlight in_flight{rank.alive, rank.chunks};
    rank.in_flight = in_flight.micro_batches();
    TermSink sink(&rank.terms);
    rank_terms(plan, layer, slice, in_flight, engine, sink, loop);

    rank.activations_per_layer = stage_activations(plan, layer, slice, in_flight, layout.recompute).a_layer.value();
    for (const auto mode : {Recompute::None, Recompute::Selective, Recompute::Full, Recompute::Mlp})
        rank.activations_by_recompute[static_cast<std::size_t>(mode)] =
            stage_activations(plan, layer, slice, in_flight, mode).total().value();
    return rank;
}

}  // namespace

void rank_terms(const Plan& plan, const LayerActivations& layer, const Slice& slice, const InFlight& in_flight,
                EngineBuffers engine, TermSink& sink, std::optional<StepLoop> loop) {
    const auto stage = stage_activations(plan, layer, slice, in_flight, plan.layout.recompute);
    model_states(plan, slice, sink);
    if (engine == EngineBuffers::DeepSpeed) deepspeed_states(plan, slice, sink);
    activation_terms(plan, layer, slice, in_flight, stage, sink);
    imbalance_term(plan, layer, slice, in_flight, sink);
    if (slice.last) logits_term(plan, in_flight.micro_batches(), sink);
    communication_buffers(plan, slice, stage, engine, sink);
    const Count dynamic = sink.of(Category::Activations) + sink.of(Category::Buffers);
    if (engine == EngineBuffers::DeepSpeed) deepspeed_step(plan, slice, loop, sink);
    overhead(plan, dynamic, sink, sink.of(Category::Activations) + sink.of(Category::Buffers) - dynamic);
}

Bytes RankMemory::total() const { return sum(terms).value(); }

Bytes RankMemory::live() const { return total() - of(Category::Overhead); }

Bytes RankMemory::reserved() const {
    const Term* fragmentation = find("fragmentation");
    return live() + (fragmentation == nullptr ? 0 : fragmentation->bytes);
}

Bytes RankMemory::of(Category category) const {
    Count bytes;
    for (const auto& term : terms)
        if (term.category == category) bytes += term.bytes;
    return bytes.value();
}

const Term* RankMemory::find(std::string_view key) const {
    const auto found = std::find_if(terms.begin(), terms.end(), [&](const Term& term) { return term.key == key; });
    return found == terms.end() ? nullptr : &*found;
}

const RankMemory& MemoryEstimate::fullest() const {
    static const RankMemory nothing;
    const auto found = std::max_element(stages.begin(), stages.end(),
                                        [](const RankMemory& a, const RankMemory& b) { return a.total() < b.total(); });
    return found == stages.end() ? nothing : *found;
}

Result<MemoryEstimate> estimate_memory(const Plan& plan) { return estimate_with(plan, EngineBuffers::Plimsoll); }

Result<MemoryEstimate> estimate_with(const Plan& plan, EngineBuffers engine, std::optional<StepLoop> loop) {
    PLIMSOLL_CHECK(require_possible(plan));
    if (plan.layout.pp > most_stages)
        return bad_input("layout.pp is {}; memory is worked out for at most {} pipeline stages", plan.layout.pp,
                         most_stages);
    PLIMSOLL_TRY(const auto usable, usable_bytes(plan.cluster));

    MemoryEstimate estimate;
    estimate.parameters = count_parameters(plan.model).total;
    estimate.usable = usable;
    const LayerActivations layer(plan);
    PLIMSOLL_TRY(const auto alive, peaks_in_flight(plan));
    for (const auto& slice : slices(plan)) {
        const auto held = alive[static_cast<std::size_t>(slice.rank)];
        estimate.stages.push_back(rank_memory(plan, layer, slice, held, engine, loop));
        auto host = host_states(plan, slice);
        if (engine == EngineBuffers::DeepSpeed) add_deepspeed_host(plan, slice, host);
        if (plan.layout.offload_activations)
            host.push_back(host_activations(plan, layer, slice, {held, chunks_per_rank(plan)}));
        if (const auto bytes = sum(host).value(); bytes > estimate.host) {
            estimate.host = bytes;
            estimate.host_terms = std::move(host);
        }
    }
    estimate.rules = rules_of_thumb(plan, estimate);
    return estimate;
}

}  // namespace plimsoll
