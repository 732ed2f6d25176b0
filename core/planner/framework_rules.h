// SPDX-License-Identifier: Apache-2.0
// Layouts that a framework cannot train.
#pragma once

#include "core/frameworks/framework.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Why the framework cannot train the plan in a layout that is possible (check_plan): half a sentence whose subject is the
/// framework ("has no such schedule: ..."). Null where it can. Sources:
/// - DeepSpeed: runtime/pipe/schedule.py (TrainSchedule is 1F1B); no switch splits norms along the sequence; 16-bit
///   weights have fp32 masters from stage 1 on (its export writes stage 1 in place of 0).
/// - Megatron-LM: training/arguments.py (equal layers a stage and chunk; sequence parallelism with expert and tensor
///   parallelism), core/pipeline_parallel/schedules.py (interleaving takes whole rounds of micro-batches),
///   core/optimizer (offload is part of the distributed optimizer).
/// - torchtitan: FSDP2 shards parameters, gradients and states; its tensor parallelism splits norms along the sequence
///   and key and value heads evenly; its pipelines keep parameters gathered between micro-batches.
/// - Hugging Face's Trainer: data parallelism (DDP), gradient checkpointing of every layer or of none.
const char* refusal_of(Framework framework, const Plan& plan, const Layout& layout);

}  // namespace plimsoll
