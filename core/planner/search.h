// SPDX-License-Identifier: Apache-2.0
// The search: every possible layout is evaluated, or ruled out by a bound.
#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "core/planner/front.h"
#include "core/planner/planner.h"

namespace plimsoll {

/// GPUs to plan on: one of the request's clusters, or several counted as one cluster whose ranks are all as slow and
/// small as the weakest.
struct Pool {
    Cluster cluster;
    Hardware hardware;
    Bytes usable = 0;   ///< memory of a rank
    Bytes limit = 0;    ///< the largest peak that fits: fit_limit()
    std::string words;  ///< empty: the plan's own cluster
};
Result<std::vector<Pool>> pools(const PlanRequest& request);

/// The layout of the point with its GPUs and times.
Candidate candidate_of(const PlanRequest& request, const std::vector<Pool>& pools, const LayoutPoint& point);

struct Found {
    Ranking ranking;
    Front front;
    std::optional<LayoutPoint> leanest;  ///< the leanest layout that does not fit
    bool host_binds = false;             ///< a layout was left out for its host memory alone
    SearchCounts counts;
};

using SearchProgress = std::function<void(const Found&)>;

/// Threads take divisions from one list, in the order of their bounds, shortest first. The result depends neither on
/// the number of threads nor on time, except when cancelled.
Found search(const PlanRequest& request, const std::vector<Pool>& pools, const SearchProgress& progress,
             const std::atomic<bool>* cancel);

}  // namespace plimsoll
