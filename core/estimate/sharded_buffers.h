// SPDX-License-Identifier: Apache-2.0
// Memory that Plimsoll's engine takes for a while under ZeRO-2 and 3 (core/engine/parallel/data_parallel.h).
#pragma once

#include <string>

#include "core/estimate/slice.h"

namespace plimsoll {

/// ZeRO-2: a bucket of gradients has memory from its first gradient until it is reduced, and the one before it may be
/// on its way. Buckets have up to training.bucket_mib and are filled from the head backwards; a parameter larger than
/// that has one of its own. ZeRO-3: the weights of a unit (embedding, a layer, the head) have memory while it computes,
/// those of the next are on their way; a unit is a bucket.
struct ShardedBuffers {
    Count at_loss;      ///< beside the logits
    Count in_backward;  ///< beside a layer's backward: the last one's with all activations, or a later one's
};
/// `kept_layer`: what a layer keeps for its backward, gone when the next one's begins.
ShardedBuffers sharded_buffers(const Plan& plan, const Slice& slice, Count kept_layer);

/// What it is made of.
std::string sharded_buffers_text(const Plan& plan, const Slice& slice, const ShardedBuffers& buffers);

}  // namespace plimsoll
