// SPDX-License-Identifier: Apache-2.0
// A plan's memory under another framework.
#pragma once

#include "core/estimate/estimate.h"
#include "core/frameworks/workload.h"

namespace plimsoll {

/// Memory by pipeline rank, in the terms of estimate_memory, which serves Framework::Plimsoll. What the framework does
/// otherwise than the plan says is counted as the framework does it, with a sentence in `notes`
/// (core/frameworks/plan_settings.h). Error when the plan is impossible, or when the framework cannot train it (the
/// sentence says what to change).
Result<MemoryEstimate> estimate_under(Framework framework, const Plan& plan);

/// The same with an optimizer that steps by `loop`, in place of the one that the framework's export names: torch.optim's
/// AdamW under DeepSpeed, adamw_torch_fused under the Trainer. Plimsoll's engine has one loop of its own.
Result<MemoryEstimate> estimate_under(Framework framework, const Plan& plan, StepLoop loop);

/// The memory of one rank of a workload that a plan cannot express. `stage` comes from stage_shares.
RankMemory rank_memory_under(Framework framework, const Workload& work, const StageShare& stage);

/// The figure that a program reports as its peak.
enum class PeakMetric {
    Allocated,  ///< bytes of tensors: torch.cuda.max_memory_allocated
    Reserved,   ///< bytes that the caching allocator holds: max_memory_reserved
    Process,    ///< memory that nvidia-smi shows: with the CUDA context and NCCL
};
Bytes peak_by(PeakMetric metric, const RankMemory& rank);

}  // namespace plimsoll
