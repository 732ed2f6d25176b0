// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/series_store.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace plimsoll {

namespace {

std::uint64_t end_of(const std::vector<Pyramid>& branches) {
    return branches.back().size() == 0 ? 0 : branches.back().step(branches.back().size() - 1);
}

/// A time that is no number, as in a damaged file, counts as the earliest.
bool earlier(const Event& a, const Event& b) { return std::isnan(a.time) ? !std::isnan(b.time) : a.time < b.time; }

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
    add_events(batch.events, rank);
}

/// Files of several ranks interleave: nearly always the new events are the latest. Otherwise those behind the first new
/// one are merged with them, once a batch.
void SeriesStore::add_events(std::vector<Event> events, int rank) {
    if (events.empty()) return;
    std::stable_sort(events.begin(), events.end(), earlier);
    const auto behind = std::upper_bound(events_.begin(), events_.end(), events.front(), earlier);
    const auto first = behind - events_.begin();
    const std::vector<Event> later(std::make_move_iterator(behind), std::make_move_iterator(events_.end()));
    const std::vector<int> later_ranks(event_ranks_.begin() + first, event_ranks_.end());
    events_.resize(static_cast<std::size_t>(first));
    event_ranks_.resize(static_cast<std::size_t>(first));
    std::size_t old = 0;
    for (Event& event : events) {
        for (; old < later.size() && !earlier(event, later[old]); ++old) {
            events_.push_back(later[old]);
            event_ranks_.push_back(later_ranks[old]);
        }
        events_.push_back(std::move(event));
        event_ranks_.push_back(rank);
    }
    events_.insert(events_.end(), later.begin() + static_cast<std::ptrdiff_t>(old), later.end());
    event_ranks_.insert(event_ranks_.end(), later_ranks.begin() + static_cast<std::ptrdiff_t>(old), later_ranks.end());
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
    std::size_t kept = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        if (event_ranks_[i] == rank) continue;
        if (kept != i) events_[kept] = std::move(events_[i]);
        event_ranks_[kept++] = event_ranks_[i];
    }
    events_.resize(kept);
    event_ranks_.resize(kept);
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

double SeriesStore::latest_start() const {
    const auto start = std::find_if(events_.rbegin(), events_.rend(), [](const Event& event) {
        return event.kind == EventKind::Start || event.kind == EventKind::Resume;
    });
    return start == events_.rend() ? 0 : start->time;
}

std::optional<double> SeriesStore::seconds_a_step() const {
    constexpr std::size_t most = 50;
    const Pyramid* loss = find(series::loss);
    if (loss == nullptr || loss->size() < 2) return std::nullopt;
    const std::size_t last = loss->size() - 1;
    const double start = latest_start();
    std::size_t from = last;
    while (from > 0 && last - from < most && loss->time(from - 1) >= start) --from;
    if (from == last || loss->step(from) == loss->step(last)) return std::nullopt;
    return (loss->time(last) - loss->time(from)) / static_cast<double>(loss->step(last) - loss->step(from));
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
