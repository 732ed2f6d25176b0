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
    int divisor = 0;  ///< divides the sum over ranks; 0: the number of ranks
    /// ZeRO: each matrix is cut between its rows and has a bucket of its own (Adafactor's moments are of whole rows).
    bool whole_rows = false;
    /// ZeRO-3: where the shards of parameters wait while their unit is not gathered and their part is not held; null:
    /// shards stay in memory. A part of the store is a bucket.
    std::shared_ptr<StateStore> parameter_store = nullptr;
};

struct ParallelParameter {
    std::string name;
    torch::Tensor tensor;
    std::size_t unit = 0;   ///< parameters of a unit are gathered and freed together (ZeRO-3)
    std::size_t chunk = 0;  ///< chunk of the pipeline rank; a bucket holds parameters of one chunk only
    bool alone = false;     ///< a bucket of its own, so that other groups of ranks cut it alike (tied weights)
    int gradients = 0;      ///< number of gradients per backward; 0: counted in the first one
    /// ZeRO-3: makes the initial values when the bucket of the parameter is made, so that the whole model is never in
    /// memory. Needed for a tensor without memory of its own (ParameterMemory::later). Empty: the tensor's own values
    /// are taken.
    std::function<torch::Tensor()> initial = nullptr;
};

/// What the optimizer of this rank updates of one parameter.
struct OwnedPart {
    std::size_t parameter = 0;  ///< index among those given to the constructor, ties and frozen ones left out
    std::string name;
    torch::Tensor tensor;    ///< the whole parameter (ZeRO-0) or a flat range of it, written in place
    torch::Tensor gradient;  ///< of the same shape; valid after finish()
    std::int64_t begin = 0;  ///< where the range begins in the flattened parameter
    std::size_t bucket = 0;  ///< the part of DataParallelOptions::parameter_store that `tensor` lies in
};

/// Buckets of about `bucket_bytes` in reverse parameter order (the order in which gradients appear), under ZeRO-3 one
/// bucket per unit. A bucket is sent when its last gradient is ready, in the same order on every rank. Unused
/// parameters count as zero gradients.
///
///     stage 0   gradients are views into their bucket, which is all-reduced
///     stage 1   the bucket is reduce-scattered in place; gradients stay whole until then
///     stage 2   a bucket has memory from its first gradient until it is reduce-scattered: only this rank's
///               shard stays. Every micro-batch reduces.
///     stage 3   the parameters of a unit, too, have memory only while they are used (gather, release)
///
/// A weight that is used in several places (a tied head) usually gets one gradient per backward, but one gradient per
/// place of use under reentrant recomputation. The first backward counts the gradients of each weight; its buckets are
/// therefore sent at its end.
class DataParallel {
public:
    DataParallel(std::vector<ParallelParameter> parameters, Collectives& collectives,
                 const DataParallelOptions& options);
    DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& named_parameters, Collectives& collectives,
                 Bytes bucket_bytes, bool fp32_gradients = false);
    ~DataParallel();
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// Sends rank 0's weights to all ranks. Gradients are zero afterwards.
    Result<void> broadcast_parameters();
    /// To be called before the backward of each micro-batch. Only the last backward of a step reduces; from ZeRO-2 on,
    /// each backward does.
    void prepare_backward(bool reduce);
    /// To be called by a pipeline when the gradients of a chunk are complete: the chunk's buckets are sent while other
    /// chunks go on, and finish() waits for the buckets. A parameter with a bucket of its own (`alone`) is sent in
    /// finish(), since a tied weight may belong to another chunk too. Stages 0 and 1; on every rank the same calls in
    /// the same order.
    void reduce_chunk(std::size_t chunk);
    /// To be called after a backward that reduces: waits for all buckets. Gradients (from ZeRO-1 on, those of the owned
    /// parts) then hold the mean over ranks.
    Result<void> finish();
    void zero_gradients();

    /// The parts are the same in every call. All ranks list parameters in the same order; a rank leaves out parameters
    /// that it holds no part of.
    std::vector<OwnedPart> owned_parts() const;
    /// ZeRO-1 and 2, after the optimizer has updated the owned parts: gathers the parts of all ranks on every rank.
    Result<void> share_parameters();

    /// ZeRO-3: starts gathering a unit's parameters; waits for them; frees them. Nested uses are counted.
    void start_gather(std::size_t unit);
    void gather(std::size_t unit);
    void release(std::size_t unit);

    /// Assembles whole tensors, by parameter index, from the ranges of all ranks: an optimizer state with one number
    /// per element, for a checkpoint. `runs[i]` belongs to owned_parts()[i].
    Result<std::vector<torch::Tensor>> whole(const std::vector<torch::Tensor>& runs) const;

    /// The parameter_store of the options.
    StateStore* parameter_store() const;

    /// Turns on (or off) a sum of the squares of this rank's own gradients before the reduction, over each backward
    /// that reduces and the parameters for which `counts` is true (by index, as in OwnedPart). The sum begins at 0.
    void measure_own_gradients(bool on, std::vector<bool> counts = {});
    /// For a group of one rank, whose backwards accumulate: adds the squares of the gradients that have arrived so far.
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
