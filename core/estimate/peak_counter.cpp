// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/peak_counter.h"

#include <algorithm>
#include <tuple>

#include "core/base/kept.h"
#include "core/estimate/terms.h"
#include "core/schedule/plan_pipeline/in_flight.h"
#include "core/schedule/schedule.h"
#include "core/schedule/stage_times.h"

namespace plimsoll {
namespace {

/// The values that the stages' parameters depend on.
auto slices_key(const Layout& l) {
    return std::tuple(l.pp, l.tp, l.ep, l.schedule, l.chunks, l.split, l.recompute, l.recompute_stages,
                      l.recompute_every, l.cp, l.micro_batch, l.sequence_parallel);
}
/// The same for a split into equal numbers of layers, which no time influences.
auto even_slices_key(const Layout& l) { return std::tuple(l.pp, l.tp, l.ep, l.schedule, l.chunks); }
/// The values that a layer's tensors depend on.
auto layer_key(const Layout& l) {
    return std::tuple(l.micro_batch, l.tp, l.cp, l.ep, l.sequence_parallel, l.compress_activations);
}
auto alive_key(const Layout& l) { return std::tuple(l.schedule, l.pp, l.accumulation, l.chunks); }

}  // namespace

struct PeakCounter::Impl {
    Plan plan;
    Kept<std::vector<Slice>, decltype(slices_key(Layout{}))> slices_by_times;
    Kept<std::vector<Slice>, decltype(even_slices_key(Layout{}))> slices_even;
    Kept<LayerActivations, decltype(layer_key(Layout{}))> layer;
    Kept<std::vector<std::int64_t>, decltype(alive_key(Layout{}))> alive;

    const LayerActivations& layer_activations() {
        return layer.get(layer_key(plan.layout), [&] { return LayerActivations(plan); });
    }

    const std::vector<std::int64_t>& in_flight() {
        const auto& l = plan.layout;
        return alive.get(alive_key(l), [&] { return peaks_in_flight(l.schedule, l.pp, l.accumulation, l.chunks); });
    }

    void take(const Layout& layout) {
        plan.layout = layout;
        plan.layout.schedule_file.clear();
    }

    const std::vector<Slice>& stages() {
        const auto& layout = plan.layout;
        const auto make = [&] { return slices(plan); };
        return layout.split == Split::Even ? slices_even.get(even_slices_key(layout), make)
                                           : slices_by_times.get(slices_key(layout), make);
    }
};

PeakCounter::PeakCounter(const Plan& plan) : impl_(std::make_unique<Impl>()) { impl_->plan = plan; }
PeakCounter::~PeakCounter() = default;

std::int64_t PeakCounter::fullest(const Layout& layout, std::int64_t limit) {
    auto& plan = impl_->plan;
    impl_->take(layout);
    const auto& stages = impl_->stages();
    const auto& layer = impl_->layer_activations();
    const auto& alive = impl_->in_flight();
    const auto chunks = chunks_per_rank(plan);
    Count most;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const auto& slice = stages[i];
        // A middle stage is no fuller than the stage before it when both are alike, with no more micro-batches in
        // flight and no more layers recomputed.
        if (i > 1 && !slice.last && slice.layers == stages[i - 1].layers && alive[i] <= alive[i - 1] &&
            layout.recompute_stages == 0 && layout.recompute_every == 1)
            continue;
        TermSink sink(nullptr);
        rank_terms(plan, layer, slice, {alive[static_cast<std::size_t>(slice.rank)], chunks}, EngineBuffers::Plimsoll,
                   sink);
        most = std::max(most, sink.total());
        if (most > Count(limit)) break;
    }
    return most.value();
}

std::int64_t PeakCounter::at_least(const Layout& layout) {
    auto& plan = impl_->plan;
    impl_->take(layout);
    const auto& first = impl_->stages().front();
    TermSink sink(nullptr);
    model_states(plan, first, sink);
    if (layout.offload_activations) return sink.total().value();
    const InFlight in_flight{impl_->in_flight().front(), chunks_per_rank(plan)};
    return (sink.total() + kept_by_layers(plan, impl_->layer_activations(), first, in_flight, layout.recompute))
        .value();
}

std::int64_t PeakCounter::states(const Layout& layout) {
    auto& plan = impl_->plan;
    impl_->take(layout);
    Count most;
    for (const auto& slice : impl_->stages()) {
        TermSink sink(nullptr);
        model_states(plan, slice, sink);
        most = std::max(most, sink.total());
    }
    return most.value();
}

std::int64_t PeakCounter::host(const Layout& layout) {
    auto& plan = impl_->plan;
    impl_->take(layout);
    const auto& stages = impl_->stages();
    Count most;
    for (std::size_t i = 0; i < stages.size(); ++i) {
        const auto& slice = stages[i];
        const bool as_before = i > 0 && slice.total == stages[i - 1].total && slice.largest == stages[i - 1].largest;
        if (as_before && !layout.offload_activations) continue;
        auto terms = host_states(plan, slice);
        if (layout.offload_activations)
            terms.push_back(host_activations(plan, impl_->layer_activations(), slice,
                                             {impl_->in_flight()[i], chunks_per_rank(plan)}));
        Count bytes;
        for (const auto& term : terms) bytes += term.bytes;
        most = std::max(most, bytes);
    }
    return most.value();
}

}  // namespace plimsoll
