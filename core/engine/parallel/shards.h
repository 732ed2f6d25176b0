// SPDX-License-Identifier: Apache-2.0
// What each data-parallel rank owns of the parameters (ZeRO, Rajbhandari 2020).
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
    torch::Tensor tensor;    ///< all of it (ZeRO-0), or a flat range of it, written in place
    torch::Tensor gradient;  ///< of the same shape; valid after a backward that reduces has finished
    std::int64_t begin = 0;  ///< of the range in the flattened parameter
    std::size_t bucket = 0;  ///< the part of DataParallelOptions::parameter_store that `tensor` lies in
};

/// A shard is an equal range of each bucket, so it may begin and end in the middle of a parameter. The memory is that
/// of the buckets.
class Shards {
public:
    Shards(Buckets& buckets, Collectives& ranks) : buckets_(buckets), ranks_(ranks) {}

    /// The same in every call, and on every rank the same parameters in the same order but for those it has no part of.
    std::vector<OwnedPart> owned_parts() const;
    /// ZeRO-1 and 2, after the optimizer wrote its parts: everyone's parts to everyone.
    Result<void> share_parameters();
    /// Numbers of each rank's flat range of every parameter, put together: weights, or the state of an optimizer, for a
    /// checkpoint. `ranges[i]` belongs to owned_parts()[i]; gives the whole tensors by parameter index.
    Result<std::vector<torch::Tensor>> whole(const std::vector<torch::Tensor>& ranges) const;

private:
    Result<torch::Tensor> shard_of(const Bucket& bucket, const std::vector<torch::Tensor>& ranges) const;

    Buckets& buckets_;
    Collectives& ranks_;
};

}  // namespace plimsoll::engine
