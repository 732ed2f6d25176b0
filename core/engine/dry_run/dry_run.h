// SPDX-License-Identifier: Apache-2.0
// A training step of any rank of any layout without its memory: the engine's own code on tensors that only have a
// shape, with every allocation written down.
#pragma once

#include <vector>

#include "core/allocator/memory_timeline.h"
#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct DryRunOptions {
    int rank = 0;
    AllocatorSettings allocator;  ///< of a GPU
    Bytes capacity = 0;           ///< that the card gives to tensors; 0: as much as is asked for
    bool all_micro_batches = false;
    /// Rows of each expert as a real step of this rank had them (the event "memory"); empty: spread evenly.
    std::vector<std::vector<std::int64_t>> routing;
};

struct DryRunResult {
    int rank = 0;
    /// Of the second step, which is like all later ones: optimizer states stand, buffers have been made.
    MemoryTimeline timeline;
    MemoryTrace trace;
    std::size_t step_begin = 0;  ///< the event of the trace with which it begins
    ReplayedTrace card;          ///< on a GPU, over both steps
    bool on_card = false;
    Bytes host_peak = 0;             ///< offloaded states and activations
    std::int64_t micro_batches = 0;  ///< that were run; fewer than the plan's where more would repeat themselves
    Seconds seconds = 0;
};

/// On the plan's GPU (cluster.gpu), or on a CPU rank, whose peak this is to the byte; with routed experts where the
/// tokens are spread as they were. Builds the model, its optimizer, and takes two steps. The process is to do nothing
/// else with LibTorch meanwhile. Errors: a plan that is impossible, or that the engine cannot train; a rank that the
/// layout has not.
Result<DryRunResult> dry_run(const Plan& plan, const DryRunOptions& options);

}  // namespace plimsoll::engine
