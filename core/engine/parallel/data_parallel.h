// SPDX-License-Identifier: Apache-2.0
// Data-parallel ranks: gradient averaging in buckets, overlapped with backward, and ZeRO's sharding of optimizer,
// gradients and parameters (Rajbhandari 2020).
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/optimizer/state_store.h"
#include "core/engine/ranks/collectives.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

struct DataParallelOptions {
    Bytes bucket_bytes = 25 * MiB;
    /// Half-precision gradients are accumulated, reduced and handed to the optimizer in fp32.
    bool fp32_gradients = false;
    ReduceDtype reduce_dtype = ReduceDtype::Gradient;
    int zero_stage = 0;
    int divisor = 0;  ///< of the sum over ranks; 0: their number
    /// ZeRO: each matrix is cut between its rows and has a bucket of its own (Adafactor's moments are of whole rows).
    bool whole_rows = false;
    /// ZeRO-3: where the shards of parameters wait while no unit of theirs is gathered and no part of them is held;
    /// null: they stay. A part of it is a bucket.
    std::shared_ptr<StateStore> parameter_store = nullptr;
};

struct ParallelParameter {
    std::string name;
    torch::Tensor tensor;
    std::size_t unit = 0;   ///< parameters of a unit are gathered and freed together (ZeRO-3)
    std::size_t chunk = 0;  ///< of a pipeline rank: buckets hold parameters of one
    bool alone = false;     ///< a bucket of its own, so that other groups of ranks cut it alike (tied weights)
    int gradients = 0;      ///< that come in one backward; 0: counted in the first one
    /// ZeRO-3: its numbers, asked for when its bucket is made. A tensor without memory of its own (ParameterMemory) has
    /// none; with it the whole model is never in memory. Empty: the tensor's own.
    std::function<torch::Tensor()> initial = nullptr;
};

/// What the optimizer of this rank updates of one parameter.
struct OwnedPart {
    std::size_t parameter = 0;  ///< index among those given to the constructor, ties and frozen ones left out
    std::string name;
    torch::Tensor tensor;    ///< all of it (ZeRO-0), or a flat run of it, written in place
    torch::Tensor gradient;  ///< of the same shape; valid after finish()
    std::int64_t begin = 0;  ///< of the run in the flattened parameter
    std::size_t bucket = 0;  ///< the part of DataParallelOptions::parameter_store that `tensor` lies in
};

/// Buckets of about `bucket_bytes` in reverse parameter order (the order in which gradients appear), under ZeRO-3 one a
/// unit. A bucket travels when its last gradient is ready, in the same order on every rank. Unused parameters count as
/// zero gradients.
///
///     stage 0   gradients are views into their bucket, which is all-reduced
///     stage 1   the bucket is reduce-scattered in place; gradients stay whole until then
///     stage 2   a bucket has memory from its first gradient until it is reduce-scattered: only this rank's shard
///     stays.
///               Every micro-batch reduces.
///     stage 3   the parameters of a unit, too, have memory only while they are used (gather, release)
///
/// A weight that is used in several places (a tied head) usually gets one gradient a backward, but one a place under
/// reentrant recomputation. How many come is counted in the first backward, whose buckets are sent at its end.
class DataParallel {
public:
    DataParallel(std::vector<ParallelParameter> parameters, Collectives& collectives,
                 const DataParallelOptions& options);
    DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& named_parameters, Collectives& collectives,
                 Bytes bucket_bytes, bool fp32_gradients = false);
    ~DataParallel();
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// Rank 0's weights to everyone. The gradients are zero afterwards.
    Result<void> broadcast_parameters();
    /// Before the backward of each micro-batch; only the last one of a step reduces (from ZeRO-2 on, each does).
    void prepare_backward(bool reduce);
    /// Of a pipeline, whose backwards are many: the gradients of the chunk are whole, and its buckets travel from now
    /// on while other chunks go on; finish() waits for them. What is alone in its bucket waits for finish(), since a
    /// tied weight may belong to another chunk too. Stages 0 and 1; on every rank the same calls in the same order.
    void reduce_chunk(std::size_t chunk);
    /// After a backward that reduces: waits for all buckets; gradients (ZeRO-1 and up: of the owned parts) then hold
    /// the mean over ranks.
    Result<void> finish();
    void zero_gradients();

    /// The same in every call, and on every rank the same parameters in the same order but for those it has no part of.
    std::vector<OwnedPart> owned_parts() const;
    /// ZeRO-1 and 2, after the optimizer wrote its parts: everyone's parts to everyone.
    Result<void> share_parameters();

    /// ZeRO-3: starts gathering a unit's parameters; waits for them; frees them. Nested uses are counted.
    void start_gather(std::size_t unit);
    void gather(std::size_t unit);
    void release(std::size_t unit);

    /// One number a parameter from each rank's flat run of it, put together: the state of an optimizer for a
    /// checkpoint. `runs[i]` belongs to owned_parts()[i]; gives the whole tensors by parameter index.
    Result<std::vector<torch::Tensor>> whole(const std::vector<torch::Tensor>& runs) const;

    /// That of the options.
    StateStore* parameter_store() const;

    /// From now on, until `on` is false, sums up what this rank's own gradients are before they are reduced: the
    /// squares of the parameters for which `counts` holds (by index, as in OwnedPart), of each backward that reduces.
    /// Begins at 0.
    void measure_own_gradients(bool on, std::vector<bool> counts = {});
    /// Adds those that have come so far, of a group of one rank whose backwards add up.
    void add_own_squares();
    double own_squares() const;

    std::size_t bucket_count() const;
    /// Buckets of the last step whose reduction had started before its last backward ended.
    std::size_t overlapped_buckets() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::engine
