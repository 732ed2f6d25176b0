// SPDX-License-Identifier: Apache-2.0
// The results that a search keeps: the best layouts by the objective, and the Pareto front over memory, time and GPUs.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "core/planner/request.h"

namespace plimsoll {

/// A layout with its GPUs, step time and peak.
struct LayoutPoint {
    Layout layout;
    std::int64_t gpus = 1;
    std::size_t pool = 0;  ///< which of the request's clusters, where GPUs are unequal
    Seconds step = 0;
    Bytes peak = 0;
};

/// The quantities by which an objective ranks a layout, the most important first; smaller is better.
struct RankKey {
    double first = 0, second = 0, third = 0;
    auto operator<=>(const RankKey&) const = default;
};
RankKey rank_key(Objective objective, std::int64_t gpus, Seconds step, Bytes peak);

/// A total order: the key, then the layout's own values, so that a result does not depend on the order of search.
bool better(Objective objective, const LayoutPoint& a, const LayoutPoint& b);

/// The `keep` best points. Layouts that differ in ZeRO stage and schedule alone, and are as fast and as large, count as
/// one: they are the same run.
class Ranking {
public:
    Ranking(Objective objective, std::size_t keep) : objective_(objective), keep_(keep) {}

    /// Whether a point with that key could still enter the ranking.
    bool wants(const RankKey& key) const { return points_.size() < keep_ || key <= worst_; }
    void add(const LayoutPoint& point);
    void add(const Ranking& other);
    /// Best first.
    std::vector<LayoutPoint> sorted() const;

private:
    Objective objective_;
    std::size_t keep_;
    std::vector<LayoutPoint> points_;  ///< a heap, the worst on top
    RankKey worst_;
};

/// The points that no other point beats or equals in both memory and time with as many GPUs or fewer.
class Front {
public:
    /// Whether some point with no more GPUs is faster than `step` and needs no more than `peak`; then every layout at
    /// least that slow and that large is beaten as well.
    bool beaten(std::int64_t gpus, Seconds step, Bytes peak) const;
    void add(const LayoutPoint& point);
    void add(const Front& other);
    /// By time.
    std::vector<LayoutPoint> sorted() const;

private:
    using Stairs = std::map<Seconds, LayoutPoint>;  ///< the longer the step, the smaller the peak
    static bool beaten(const Stairs& stairs, Seconds step, Bytes peak);
    std::map<std::int64_t, Stairs> by_gpus_;
};

}  // namespace plimsoll
