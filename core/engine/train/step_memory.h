// SPDX-License-Identifier: Apache-2.0
// What one step keeps in memory, allocation by allocation.
#pragma once

#include <optional>
#include <vector>

#include "core/allocator/memory_timeline.h"
#include "core/allocator/memory_trace.h"
#include "core/engine/layers/routing_log.h"
#include "core/engine/memory/memory_recorder.h"

namespace plimsoll::engine {

struct StepMemory {
    CategoryBytes standing;  ///< what was there before the step
    MemoryTrace trace;
    std::vector<RowCounts> routing;  ///< rows that each expert got, so that a dry run can take the same step
};

/// Writes a step on a CPU down while it lives, by the thread that made it.
class StepMemoryWatch {
public:
    StepMemoryWatch();
    /// Ends the watch.
    StepMemory finish();

private:
    CategoryBytes standing_;
    std::optional<MemoryRecorder> recorder_;
    RoutingLog routing_;
};

}  // namespace plimsoll::engine
