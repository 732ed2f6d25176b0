// SPDX-License-Identifier: Apache-2.0
// Shards: the part of the parameters that each data-parallel rank owns (ZeRO, Rajbhandari 2020).
#pragma once

#include <torch/torch.h>

#include <string>
#include <vector>

#include "core/engine/parallel/buckets.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// What the optimizer of this rank updates of one parameter.
struct OwnedPart {
    std::size_t parameter = 0;  ///< index among those that train, in the order of the model
    std::string name;
    torch::Tensor tensor;    ///< the whole parameter (ZeRO-0) or a flat range of it, written in place
    torch::Tensor gradient;  ///< of the same shape; valid after a backward that reduces has finished
    std::int64_t begin = 0;  ///< where the range begins in the flattened parameter
    std::size_t bucket = 0;  ///< the part of DataParallelOptions::parameter_store that `tensor` lies in
};

/// A rank's shards are equal ranges of each bucket, so a shard may begin and end in the middle of a parameter. The
/// memory belongs to the buckets, which must outlive this object.
class Shards {
public:
    Shards(Buckets& buckets, Collectives& ranks) : buckets_(buckets), ranks_(ranks) {}

    /// The parts are the same in every call. All ranks list parameters in the same order; the part of a rank that holds
    /// nothing of a parameter is empty.
    std::vector<OwnedPart> owned_parts() const;
    /// ZeRO-1 and 2, after the optimizer has updated the owned parts: gathers the parts of all ranks on every rank.
    Result<void> share_parameters();
    /// Assembles whole tensors, by parameter index, from the ranges of all ranks: weights, or an optimizer state with one
    /// number per element, for a checkpoint. `ranges[i]` belongs to owned_parts()[i].
    Result<std::vector<torch::Tensor>> whole(const std::vector<torch::Tensor>& ranges) const;

private:
    Result<torch::Tensor> shard_of(const Bucket& bucket, const std::vector<torch::Tensor>& ranges) const;

    Buckets& buckets_;
    Collectives& ranks_;
};

}  // namespace plimsoll::engine
