// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed's optimizers hold and allocate beside the terms that all engines share. Read in DeepSpeed 0.19.8;
// file names are those of deepspeed/runtime. Used by rank_terms only.
#pragma once

#include <optional>
#include <vector>

#include "core/estimate/optimizer_step.h"
#include "core/estimate/terms.h"

namespace plimsoll {

/// Copies of weights and gradients that a stage keeps all the time.
void deepspeed_states(const Plan& plan, const Slice& slice, TermSink& sink);

/// Buckets of the gradients' reduction, gathered parameters, and the buffer through which gradients leave the device.
void deepspeed_buffers(const Plan& plan, const Slice& slice, TermSink& sink);

/// Host memory beside masters, moments and fp32 gradients.
void add_deepspeed_host(const Plan& plan, const Slice& slice, std::vector<Term>& terms);

/// Bytes that the optimizer's step allocates beside weights, gradients, masters and moments, at its peak. `trained` is
/// what trains of a stage's slice.
Count deepspeed_step_bytes(const Plan& plan, const Slice& trained, StepLoop loop);

/// What the optimizer's step needs beyond what is free again by then: activations, logits and buckets.
/// To be added behind these. `loop` is that of the optimizer in the exported file where it is not given: FusedAdam, and
/// torch.optim's default for SGD.
///
///     stages 1 and 2   the gradients' shard is copied into one tensor, g B a number, and that to fp32, 4 B
///                      (zero/stage_1_and_2.py:3117, 3118), beside the shard itself, which is then freed (3131); the
///                      optimizer steps the one flat fp32 tensor (3139). With fp32 gradients stage 2 reduces into such
///                      a tensor (1268) and copies nothing; stage 1 in bf16 keeps a flat fp32 buffer of all gradients
///                      (bf16_optimizer.py:191), in fp16 it copies the shard (zero/stage_1_and_2.py:1036)
///     stage 3          the same by groups of sub_group_size = 1e9 numbers (zero/stage3.py:2686, 2913)
///     offload          the optimizer steps in host memory: on the device nothing is allocated
///                      (zero/stage_1_and_2.py:3078, zero/stage3.py:2706)
void deepspeed_step(const Plan& plan, const Slice& slice, std::optional<StepLoop> loop, TermSink& sink);

}  // namespace plimsoll
