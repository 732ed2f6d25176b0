// SPDX-License-Identifier: Apache-2.0
#include "core/planner/memory_counter.h"

#include <algorithm>

#include "core/frameworks/estimate_under.h"
#include "core/planner/space.h"

namespace plimsoll {

namespace {

constexpr Bytes most = std::numeric_limits<Bytes>::max();

Bytes states_of(const RankMemory& rank) {
    return (Count(rank.of(Category::Parameters)) + rank.of(Category::Gradients) + rank.of(Category::Optimizer)).value();
}

bool offloads(const Layout& layout) {
    return layout.offload_optimizer != Offload::None || layout.offload_parameters != Offload::None ||
           layout.offload_activations;
}

}  // namespace

const Plan& MemoryCounter::plan_with(const Layout& layout) {
    if (layout.world_size() != plan_.cluster.world_size()) plan_.cluster = part_of(cluster_, layout.world_size());
    plan_.layout = layout;
    return plan_;
}

Bytes MemoryCounter::fullest(const Layout& layout, Bytes limit) {
    if (framework_ == Framework::Plimsoll) return peaks_.fullest(layout, limit);
    const auto estimate = estimate_under(framework_, plan_with(layout));
    return estimate ? estimate->fullest().total() : most;
}

Bytes MemoryCounter::states(const Layout& layout) {
    if (framework_ == Framework::Plimsoll) return peaks_.states(layout);
    const auto chunks = layout.pp > 1 ? layout.chunks : 1;
    return states_.get({layout.tp, layout.pp, layout.cp, layout.ep, layout.dp, layout.zero_stage,
                        layout.offload_optimizer, layout.pp > 1 ? layout.schedule : Schedule::OneFOneB, chunks},
                       [&] { return estimated_states(layout); });
}

Bytes MemoryCounter::estimated_states(const Layout& layout) {
    auto small = layout;
    small.micro_batch = 1;
    // As few micro-batches as every schedule takes: states do not depend on their number.
    small.accumulation = 2 * layout.pp;
    const auto estimate = estimate_under(framework_, plan_with(small));
    Bytes states = 0;
    if (estimate)
        for (const auto& rank : estimate->stages) states = std::max(states, states_of(rank));
    return states;
}

Bytes MemoryCounter::at_least(const Layout& layout) {
    return framework_ == Framework::Plimsoll ? peaks_.at_least(layout) : states(layout);
}

Bytes MemoryCounter::host(const Layout& layout) {
    if (!offloads(layout)) return 0;
    if (framework_ == Framework::Plimsoll) return peaks_.host(layout);
    const auto estimate = estimate_under(framework_, plan_with(layout));
    return estimate ? estimate->host : 0;
}

Bytes host_under(Framework framework, const Plan& plan) {
    return offloads(plan.layout) ? MemoryCounter(framework, plan).host(plan.layout) : 0;
}

}  // namespace plimsoll
