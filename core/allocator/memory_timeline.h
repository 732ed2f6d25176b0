// SPDX-License-Identifier: Apache-2.0
// Memory over the events of a step: bytes of each kind over time, and the blocks at the peak.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/allocator/caching_allocator.h"
#include "core/allocator/memory_trace.h"

namespace plimsoll {

using CategoryBytes = std::array<Bytes, memory_categories>;

/// Blocks of one kind that are alive at the peak.
struct StandingBlocks {
    std::string layer, op, phase;
    MemoryCategory category = MemoryCategory::Activations;
    std::int64_t count = 0;
    Bytes bytes = 0;
};

struct TimelinePhase {
    std::string name;
    std::int64_t event = 0;
};

struct MemoryTimeline {
    std::string plan, device;
    int rank = 0;
    std::int64_t events = 0;  ///< of the window

    std::int64_t peak_event = 0;  ///< the first event (counted from 0) after which the most bytes are alive
    Bytes peak = 0;
    Bytes peak_reserved = 0;  ///< highest reserved memory from the start to the window's end; 0: no card
    CategoryBytes at_peak{};
    std::vector<StandingBlocks> standing;  ///< largest first

    std::vector<TimelinePhase> phases;  ///< phases of the window

    // Points, at ascending events.
    std::vector<std::int64_t> event;
    std::vector<Bytes> reserved;  ///< empty: no card
    std::vector<CategoryBytes> live;
    std::vector<std::int32_t> op;  ///< the op whose block came or went
    std::vector<std::string> ops;

    Bytes live_at(std::size_t point) const;
};

/// The caching allocator's reaction to a trace.
struct ReplayedTrace {
    std::vector<Bytes> reserved;  ///< after each event, up to the event that ran out of memory
    AllocatorFigures figures;     ///< peaks over the whole trace
    std::string out_of_memory;    ///< empty: the trace fitted
    std::int64_t out_of_memory_event = -1;
};
ReplayedTrace replay(const MemoryTrace& trace, const AllocatorSettings& settings, Bytes capacity);

/// The events from `begin` on, reduced to about `points` points: of each group of neighbouring events the least and the
/// most memory stay, so that no maximum is lost. Blocks allocated before `begin` count from the start. `replayed` may
/// be null.
MemoryTimeline make_timeline(const MemoryTrace& trace, std::size_t begin, const ReplayedTrace* replayed,
                             std::size_t points = 4000);

}  // namespace plimsoll
