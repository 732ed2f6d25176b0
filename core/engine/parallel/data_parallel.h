// SPDX-License-Identifier: Apache-2.0
// Data-parallel ranks: gradient averaging in buckets, overlapped with backward, and ZeRO's sharding of optimizer,
// gradients and parameters (Rajbhandari 2020).
#pragma once

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "core/engine/parallel/buckets.h"
#include "core/engine/parallel/gather_and_release.h"
#include "core/engine/parallel/gradient_reduction.h"
#include "core/engine/parallel/own_squares.h"
#include "core/engine/parallel/shards.h"

namespace plimsoll::engine {

/// The parameters of one group of data-parallel ranks. Owns the buckets and the parts that work on them; no part knows
/// another part:
///
///     stage 0   gradients are views into their bucket, which is all-reduced
///     stage 1   the bucket is reduce-scattered in place; gradients stay whole until then
///     stage 2   a bucket has memory from its first gradient until it is reduce-scattered: only this rank's shard
///     stays.
///               Every micro-batch reduces.
///     stage 3   the parameters of a unit, too, have memory only while they are used (gathering())
class DataParallel {
public:
    DataParallel(std::vector<ParallelParameter> parameters, Collectives& ranks, const DataParallelOptions& options);
    DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& named_parameters, Collectives& ranks,
                 Bytes bucket_bytes, bool fp32_gradients = false);
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// Sends rank 0's weights to all ranks. Gradients are zero afterwards.
    Result<void> broadcast_parameters();
    /// To be called before the backward of each micro-batch. Only the last backward of a step reduces; from ZeRO-2 on,
    /// each backward does.
    void prepare_backward(bool reduce) { reduction_.prepare(reduce); }
    /// To be called by a pipeline when the gradients of a chunk are complete: the chunk's buckets are sent while other
    /// chunks go on, and finish() waits for the buckets. A parameter with a bucket of its own (`alone`) is sent in
    /// finish(), since a tied weight may belong to another chunk too. Stages 0 and 1; on every rank the same calls in
    /// the same order.
    void reduce_chunk(std::size_t chunk) { reduction_.flush(chunk); }
    /// To be called after a backward that reduces: waits for all buckets. Gradients (from ZeRO-1 on, those of the owned
    /// parts) then hold the mean over ranks.
    Result<void> finish() { return reduction_.finish(); }
    void zero_gradients() { buckets_.zero_gradients(); }

    Shards& shards() { return shards_; }
    const Shards& shards() const { return shards_; }
    GatherAndRelease& gathering() { return gathering_; }
    /// Sees each bucket before it is sent, in a group of several ranks.
    OwnSquares& own_squares() { return own_squares_; }
    const OwnSquares& own_squares() const { return own_squares_; }

    /// The parameter_store of the options.
    StateStore* parameter_store() const { return buckets_.options().parameter_store.get(); }
    std::size_t bucket_count() const { return buckets_.all().size(); }
    /// Buckets of the last step whose reduction had started before its last backward ended.
    std::size_t overlapped_buckets() const { return reduction_.overlapped(); }

private:
    Result<void> broadcast_sharded(Bucket& bucket);
    Result<void> broadcast_whole(Bucket& bucket);

    Collectives& ranks_;
    Buckets buckets_;
    Shards shards_;
    GatherAndRelease gathering_;
    OwnSquares own_squares_;
    GradientReduction reduction_;
};

}  // namespace plimsoll::engine
