// SPDX-License-Identifier: Apache-2.0
// Memory that Plimsoll's engine takes for a while under ZeRO-2 and 3 (core/engine/parallel/data_parallel.h).
#pragma once

#include <string>

#include "core/estimate/slice.h"

namespace plimsoll {

/// ZeRO-2: a bucket of gradients has memory from its first gradient until it is reduced, while the bucket before it may
/// still be on its way. Buckets hold up to training.bucket_mib and are filled from the head backwards; a larger
/// parameter has a bucket of its own. ZeRO-3: the weights of a unit (embedding, a layer, the head) have memory while
/// the unit computes and the weights of the next unit are on their way; a unit is a bucket.
struct ShardedBuffers {
    Count at_loss;      ///< beside the logits
    Count in_backward;  ///< beside a layer's backward: the last one's with all activations, or a later one's
};
/// `kept_layer`: activations that a layer keeps for its backward; they are freed when the next layer's backward begins.
ShardedBuffers sharded_buffers(const Plan& plan, const Slice& slice, Count kept_layer);

/// The terms of the buffers, in words.
std::string sharded_buffers_text(const Plan& plan, const Slice& slice, const ShardedBuffers& buffers);

}  // namespace plimsoll
