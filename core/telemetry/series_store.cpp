// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/series_store.h"

#include <algorithm>

namespace plimsoll {

namespace {

std::uint64_t end_of(const std::vector<Pyramid>& branches) {
    return branches.back().size() == 0 ? 0 : branches.back().step(branches.back().size() - 1);
}

}  // namespace

void SeriesStore::apply(const TelemetryBatch& batch, int rank) {
    if (batch.replaced) forget(rank);
    if (batch.fork) cut(rank, *batch.fork);
    for (const auto& branch : batch.left) {
        for (const auto& [name, points] : branch) {
            std::vector<Pyramid>& known = branches_[name_on_rank(name, rank)];
            // What was cut just now may be the beginning of the same branch.
            const bool goes_on = &branch == &batch.left.front() && !known.empty() && *batch.fork <= end_of(known) &&
                                 end_of(known) < points.front().step;
            Pyramid& line = goes_on ? known.back() : known.emplace_back();
            for (const Point& point : points) line.append(point);
        }
    }
    for (const auto& [name, unit] : batch.units) units_[name] = unit;
    for (const auto& [name, points] : batch.points) {
        const std::string full_name = name_on_rank(name, rank);
        const auto [entry, added] = series_.try_emplace(full_name);
        if (added) of_rank_[rank].push_back(full_name);
        for (const Point& point : points) entry->second.append(point);
    }
    for (const Event& event : batch.events) {
        // Files of several ranks interleave: nearly always the new event is the latest.
        auto at = events_.end();
        while (at != events_.begin() && std::prev(at)->time > event.time) --at;
        event_ranks_.insert(event_ranks_.begin() + (at - events_.begin()), rank);
        events_.insert(at, event);
    }
}

void SeriesStore::cut(int rank, std::uint64_t step) {
    for (const std::string& name : of_rank_[rank]) {
        Pyramid& line = series_[name];
        const std::size_t from = line.lower_bound(static_cast<double>(step));
        if (from == line.size()) continue;
        Pyramid& branch = branches_[name].emplace_back();
        for (std::size_t i = from; i < line.size(); ++i) branch.append({line.step(i), line.time(i), line.value(i)});
        line.truncate_from(step);
    }
}

void SeriesStore::forget(int rank) {
    for (const std::string& name : of_rank_[rank]) {
        series_.erase(name);
        branches_.erase(name);
    }
    of_rank_.erase(rank);
    for (std::size_t i = events_.size(); i-- > 0;) {
        if (event_ranks_[i] != rank) continue;
        events_.erase(events_.begin() + static_cast<std::ptrdiff_t>(i));
        event_ranks_.erase(event_ranks_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

const Pyramid* SeriesStore::find(const std::string& name) const {
    const auto entry = series_.find(name);
    return entry == series_.end() ? nullptr : &entry->second;
}

const std::vector<Pyramid>& SeriesStore::branches(const std::string& name) const {
    static const std::vector<Pyramid> none;
    const auto entry = branches_.find(name);
    return entry == branches_.end() ? none : entry->second;
}

std::string SeriesStore::unit(const std::string& name) const {
    const auto entry = units_.find(name.substr(0, name.find('@')));
    return entry == units_.end() ? "" : entry->second;
}

std::uint64_t SeriesStore::last_step() const {
    std::uint64_t last = 0;
    for (const auto& [name, line] : series_) {
        if (line.size() > 0) last = std::max(last, line.step(line.size() - 1));
    }
    return last;
}

std::string SeriesStore::name_on_rank(const std::string& name, int rank) {
    return rank <= 0 ? name : name + "@" + std::to_string(rank);
}

}  // namespace plimsoll
