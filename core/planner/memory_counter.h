// SPDX-License-Identifier: Apache-2.0
// Memory of many layouts of one plan under one framework.
#pragma once

#include <limits>
#include <tuple>

#include "core/base/kept.h"
#include "core/estimate/peak_counter.h"
#include "core/planner/request.h"

namespace plimsoll {

/// What estimate_under(framework, plan) says of each layout: by PeakCounter for Plimsoll, by the estimate itself for the
/// other frameworks, whose searches are slower for it, and whose lower bounds are the states that the estimate counts.
/// For one thread.
class MemoryCounter {
public:
    MemoryCounter(Framework framework, const Plan& plan)
        : framework_(framework), plan_(plan), cluster_(plan.cluster), peaks_(plan) {}

    /// The fullest rank's bytes; beyond `limit` only that it is beyond. The largest number where the framework cannot
    /// estimate the layout.
    Bytes fullest(const Layout& layout, Bytes limit = std::numeric_limits<Bytes>::max());
    /// Lower bounds of fullest(): states alone, whatever micro-batch and recomputation, and a tighter one.
    Bytes states(const Layout& layout);
    Bytes at_least(const Layout& layout);
    /// Host memory of the rank that offloads most.
    Bytes host(const Layout& layout);

private:
    using StatesKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                                 Offload, Schedule, std::int64_t>;
    Bytes estimated_states(const Layout& layout);
    /// The plan with the layout, on as many of its GPUs as the layout takes.
    const Plan& plan_with(const Layout& layout);

    Framework framework_;
    Plan plan_;
    Cluster cluster_;
    PeakCounter peaks_;
    Kept<Bytes, StatesKey> states_;
};

/// Host memory of the plan's rank that offloads most; 0 where nothing is offloaded.
Bytes host_under(Framework framework, const Plan& plan);

}  // namespace plimsoll
