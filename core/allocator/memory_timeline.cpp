// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/memory_timeline.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace plimsoll {

namespace {

Bytes sum(const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }

/// Live bytes by category, event after event.
class Running {
public:
    explicit Running(const MemoryTrace& trace) : trace_(trace) {}
    void apply(MemoryTrace::Event event) {
        const auto& block = block_of(event);
        const Bytes change = event >= 0 ? block.bytes : -block.bytes;
        live_[static_cast<std::size_t>(block.label.category)] += change;
        total_ += change;
    }
    const MemoryTrace::Block& block_of(MemoryTrace::Event event) const {
        return trace_.blocks()[static_cast<std::size_t>(event >= 0 ? event : -event - 1)];
    }
    const CategoryBytes& live() const { return live_; }
    Bytes total() const { return total_; }

private:
    const MemoryTrace& trace_;
    CategoryBytes live_{};
    Bytes total_ = 0;
};

std::vector<StandingBlocks> standing_after(const MemoryTrace& trace, std::size_t events) {
    std::vector<bool> lives(trace.blocks().size(), false);
    for (std::size_t i = 0; i < events; ++i) {
        const auto event = trace.events()[i];
        lives[static_cast<std::size_t>(event >= 0 ? event : -event - 1)] = event >= 0;
    }
    std::map<std::tuple<MemoryCategory, std::int32_t, std::int32_t, std::int32_t>, StandingBlocks> groups;
    for (std::size_t i = 0; i < lives.size(); ++i) {
        if (!lives[i]) continue;
        const auto& [bytes, label] = trace.blocks()[i];
        StandingBlocks& group = groups[{label.category, label.layer, label.op, label.phase}];
        if (group.count == 0) {
            group.layer = layer_name(label.layer);
            group.op = trace.ops()[static_cast<std::size_t>(label.op)];
            group.phase = trace.phases()[static_cast<std::size_t>(label.phase)].name;
            group.category = label.category;
        }
        ++group.count;
        group.bytes += bytes;
    }
    std::vector<StandingBlocks> all;
    for (auto& [key, group] : groups) all.push_back(std::move(group));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    return all;
}

}  // namespace

Bytes MemoryTimeline::live_at(std::size_t point) const { return sum(live[point]); }

ReplayedTrace replay(const MemoryTrace& trace, const AllocatorSettings& settings, Bytes capacity) {
    ReplayedTrace replayed;
    CachingAllocator allocator(settings, capacity);
    std::vector<std::int64_t> handles(trace.blocks().size(), -1);
    replayed.reserved.reserve(trace.events().size());
    for (std::size_t i = 0; i < trace.events().size(); ++i) {
        const auto event = trace.events()[i];
        if (event < 0) {
            allocator.free(handles[static_cast<std::size_t>(-event - 1)]);
        } else {
            const auto block = static_cast<std::size_t>(event);
            const auto handle = allocator.allocate(trace.blocks()[block].bytes);
            if (!handle) {
                replayed.out_of_memory = handle.error().message;
                replayed.out_of_memory_event = static_cast<std::int64_t>(i);
                break;
            }
            handles[block] = *handle;
        }
        replayed.reserved.push_back(allocator.figures().reserved);
    }
    replayed.figures = allocator.figures();
    return replayed;
}

MemoryTimeline make_timeline(const MemoryTrace& trace, std::size_t begin, const ReplayedTrace* replayed,
                             std::size_t points) {
    const std::size_t end = trace.events().size();
    begin = std::min(begin, end);
    MemoryTimeline timeline;
    timeline.events = static_cast<std::int64_t>(end - begin);
    timeline.ops = trace.ops();
    for (const auto& phase : trace.phases()) {
        if (phase.event >= begin && phase.event < end) {
            timeline.phases.push_back({phase.name, static_cast<std::int64_t>(phase.event - begin)});
        }
    }

    Running running(trace);
    for (std::size_t i = 0; i < begin; ++i) running.apply(trace.events()[i]);
    timeline.peak = running.total();
    timeline.at_peak = running.live();
    const std::size_t buckets = std::max<std::size_t>(1, points / 2);
    const std::size_t width = std::max<std::size_t>(1, (end - begin + buckets - 1) / buckets);
    const bool card = replayed != nullptr && replayed->reserved.size() == end;
    struct Point {
        std::size_t event = 0;
        CategoryBytes live{};
        Bytes total = 0;
    };
    const auto keep = [&](const Point& point) {
        const auto& block = running.block_of(trace.events()[point.event]);
        timeline.event.push_back(static_cast<std::int64_t>(point.event - begin));
        timeline.live.push_back(point.live);
        timeline.op.push_back(block.label.op);
        if (card) timeline.reserved.push_back(replayed->reserved[point.event]);
    };
    std::size_t peak_end = begin;
    for (std::size_t from = begin; from < end; from += width) {
        Point least, most;
        for (std::size_t i = from; i < std::min(end, from + width); ++i) {
            running.apply(trace.events()[i]);
            const Point point{i, running.live(), running.total()};
            if (i == from || point.total < least.total) least = point;
            if (i == from || point.total > most.total) most = point;
        }
        if (most.total > timeline.peak) {
            timeline.peak = most.total;
            timeline.at_peak = most.live;
            timeline.peak_event = static_cast<std::int64_t>(most.event - begin);
            peak_end = most.event + 1;
        }
        keep(least.event < most.event ? least : most);
        if (least.event != most.event) keep(least.event < most.event ? most : least);
    }
    timeline.standing = standing_after(trace, peak_end);
    if (replayed != nullptr) timeline.peak_reserved = replayed->figures.reserved_peak;
    return timeline;
}

}  // namespace plimsoll
