// SPDX-License-Identifier: Apache-2.0
// The same plan's memory under another framework.
#pragma once

#include "core/estimate/estimate.h"
#include "core/frameworks/workload.h"

namespace plimsoll {

/// Memory by pipeline rank, in the same terms as estimate_memory, which Framework::Plimsoll is. Error when the plan is
/// impossible, or the framework cannot do it (the sentence says what to change).
Result<MemoryEstimate> estimate_under(Framework framework, const Plan& plan);

/// One rank of a workload that no plan can say. `stage` as from stage_shares.
RankMemory rank_memory_under(Framework framework, const Workload& work, const StageShare& stage);

/// What a program reports as its peak.
enum class PeakMetric {
    Allocated,  ///< bytes of tensors: torch.cuda.max_memory_allocated
    Reserved,   ///< bytes that the caching allocator holds: max_memory_reserved
    Process,    ///< what nvidia-smi shows: with the CUDA context and NCCL
};
Bytes peak_by(PeakMetric metric, const RankMemory& rank);

}  // namespace plimsoll
