// SPDX-License-Identifier: Apache-2.0
// Memory over the events of a step: how much of each kind lives when, and what stands at the peak.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/allocator/caching_allocator.h"
#include "core/allocator/memory_trace.h"

namespace plimsoll {

using CategoryBytes = std::array<Bytes, memory_categories>;

/// Blocks of one kind that stand at the peak.
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

    std::int64_t peak_event = 0;  ///< after this event (counted from 0) most bytes live, for the first time
    Bytes peak = 0;
    Bytes peak_reserved = 0;  ///< from the card, most of the time up to the window's end; 0: no card
    CategoryBytes at_peak{};
    std::vector<StandingBlocks> standing;  ///< largest first

    std::vector<TimelinePhase> phases;  ///< those of the window

    // Points, at ascending events.
    std::vector<std::int64_t> event;
    std::vector<Bytes> reserved;  ///< empty: no card
    std::vector<CategoryBytes> live;
    std::vector<std::int32_t> op;  ///< whose block came or went
    std::vector<std::string> ops;

    Bytes live_at(std::size_t point) const;
};

/// What the caching allocator did with a trace.
struct ReplayedTrace {
    std::vector<Bytes> reserved;  ///< after each event; as many as it came to
    AllocatorFigures figures;     ///< peaks over the whole trace
    std::string out_of_memory;    ///< empty: it fitted
    std::int64_t out_of_memory_event = -1;
};
ReplayedTrace replay(const MemoryTrace& trace, const AllocatorSettings& settings, Bytes capacity);

/// The events from `begin` on, of which at most about `points` are kept: for each run of neighbours the least and the
/// most, so that no maximum is lost. Blocks that stood before count from the start. `replayed` may be null.
MemoryTimeline make_timeline(const MemoryTrace& trace, std::size_t begin, const ReplayedTrace* replayed,
                             std::size_t points = 4000);

}  // namespace plimsoll
