// SPDX-License-Identifier: Apache-2.0
#include "core/planner/front.h"

#include <algorithm>
#include <tuple>

namespace plimsoll {

namespace {

/// Of equal layouts the one with the plainest schedule comes first.
auto schedule_order(Schedule schedule) { return std::pair(schedule != Schedule::OneFOneB, schedule); }

auto values(const Layout& l) {
    return std::tuple(l.tp, l.pp, l.cp, l.ep, l.dp, l.zero_stage, l.offload_optimizer, l.micro_batch,
                      schedule_order(l.schedule), l.chunks, l.recompute, l.sequence_parallel);
}

/// What is left of a layout when ZeRO stage and schedule make no difference.
auto shape(const LayoutPoint& p) {
    const auto& l = p.layout;
    return std::tuple(p.pool, p.gpus, p.step, p.peak, l.tp, l.pp, l.cp, l.ep, l.dp, l.offload_optimizer, l.micro_batch,
                      l.recompute, l.sequence_parallel);
}

}  // namespace

RankKey rank_key(Objective objective, std::int64_t gpus, Seconds step, Bytes peak) {
    const auto n = static_cast<double>(gpus), memory = static_cast<double>(peak);
    switch (objective) {
        case Objective::Time:
            return {step, n, memory};
        case Objective::Memory:
            return {memory, step, n};
        case Objective::Cost:
            return {step * n, step, memory};
        case Objective::FewestGpus:
            return {n, step, memory};
    }
    return {};
}

bool better(Objective objective, const LayoutPoint& a, const LayoutPoint& b) {
    const auto of = [&](const LayoutPoint& p) { return rank_key(objective, p.gpus, p.step, p.peak); };
    const auto first = of(a), second = of(b);
    if (first != second) return first < second;
    return std::tuple(a.pool, values(a.layout)) < std::tuple(b.pool, values(b.layout));
}

void Ranking::add(const LayoutPoint& point) {
    if (keep_ == 0) return;
    const auto less = [&](const LayoutPoint& a, const LayoutPoint& b) { return better(objective_, a, b); };
    if (!wants(rank_key(objective_, point.gpus, point.step, point.peak))) return;
    // Threads also hand over points that they got from other threads. Stages of ZeRO on one rank, and schedules of one
    // micro-batch, are one row: the first of them.
    const auto alike =
        std::ranges::find_if(points_, [&](const LayoutPoint& other) { return shape(other) == shape(point); });
    if (alike != points_.end()) {
        if (!less(point, *alike)) return;
        *alike = point;
        std::make_heap(points_.begin(), points_.end(), less);
        return;
    }
    if (points_.size() == keep_) {
        if (!less(point, points_.front())) return;
        std::pop_heap(points_.begin(), points_.end(), less);
        points_.back() = point;
    } else {
        points_.push_back(point);
    }
    std::push_heap(points_.begin(), points_.end(), less);
    const auto& worst = points_.front();
    worst_ = rank_key(objective_, worst.gpus, worst.step, worst.peak);
}

void Ranking::add(const Ranking& other) {
    for (const auto& point : other.points_) add(point);
}

std::vector<LayoutPoint> Ranking::sorted() const {
    auto all = points_;
    std::sort(all.begin(), all.end(),
              [&](const LayoutPoint& a, const LayoutPoint& b) { return better(objective_, a, b); });
    return all;
}

bool Front::beaten(const Stairs& stairs, Seconds step, Bytes peak) {
    auto next = stairs.lower_bound(step);
    return next != stairs.begin() && std::prev(next)->second.peak <= peak;
}

bool Front::beaten(std::int64_t gpus, Seconds step, Bytes peak) const {
    for (const auto& [count, stairs] : by_gpus_) {
        if (count > gpus) break;
        if (beaten(stairs, step, peak)) return true;
    }
    return false;
}

void Front::add(const LayoutPoint& point) {
    const auto covers = [&](const LayoutPoint& other) {
        // Among equal points the one with fewer GPUs stays, then the first in the total order.
        if (other.step > point.step || other.peak > point.peak) return false;
        if (other.step < point.step || other.peak < point.peak || other.gpus < point.gpus) return true;
        return !better(Objective::Time, point, other);
    };
    for (const auto& [count, stairs] : by_gpus_) {
        if (count > point.gpus) break;
        auto next = stairs.upper_bound(point.step);
        if (next != stairs.begin() && covers(std::prev(next)->second)) return;
    }
    for (auto& [count, stairs] : by_gpus_) {
        if (count < point.gpus) continue;
        for (auto it = stairs.lower_bound(point.step); it != stairs.end() && it->second.peak >= point.peak;)
            it = stairs.erase(it);
    }
    by_gpus_[point.gpus].insert_or_assign(point.step, point);
}

void Front::add(const Front& other) {
    for (const auto& [count, stairs] : other.by_gpus_)
        for (const auto& [step, point] : stairs) add(point);
}

std::vector<LayoutPoint> Front::sorted() const {
    std::vector<LayoutPoint> all;
    for (const auto& [count, stairs] : by_gpus_)
        for (const auto& [step, point] : stairs) all.push_back(point);
    std::sort(all.begin(), all.end(),
              [](const LayoutPoint& a, const LayoutPoint& b) { return better(Objective::Time, a, b); });
    return all;
}

}  // namespace plimsoll
