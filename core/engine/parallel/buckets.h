// SPDX-License-Identifier: Apache-2.0
// The flat memory of a data-parallel group's gradients and, under ZeRO, parameters.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "core/engine/parallel/flat_bucket.h"
#include "core/engine/parallel/parallel_parameter.h"

namespace plimsoll::engine {

/// A parameter and its place in a bucket.
struct Slot {
    ParallelParameter parameter;
    torch::Tensor gradient;  ///< of the parameter's shape; a view into the bucket
    torch::Tensor own;       ///< ZeRO-3: this rank's range, a view into the shard, which stays when that has no memory
    std::size_t bucket = 0;
    std::size_t place = 0;  ///< in the bucket
};

/// Flat tensors of layout->numel() numbers, and shards of layout->shard_numel().
struct Bucket {
    std::size_t number = 0;          ///< position in the order in which buckets are sent
    std::vector<std::size_t> slots;  ///< slots of the bucket's parameters, by place
    std::size_t unit = 0, chunk = 0;
    bool alone = false;
    std::unique_ptr<BucketLayout> layout;
    c10::ScalarType dtype = c10::kFloat;  ///< of the gradients
    Releasable gradients;
    torch::Tensor gradient_shard;  ///< ZeRO-1: a view of this rank's range of `gradients`; ZeRO-2, 3: all that stays
    Releasable parameters;         ///< ZeRO-1 and up: the weights are views of it
    torch::Tensor parameter_shard;
};

/// Buckets of about `bucket_bytes` in reverse parameter order (the order in which gradients appear). All parameters of a
/// bucket have one dtype, device and pipeline chunk; under ZeRO-3 each unit has a bucket of its own. The class owns the
/// memory:
///
///     stage 0   gradients are views into their bucket
///     stage 1   parameters are views into their bucket, too
///     stage 2   gradients have memory from the first arrival until the bucket is reduced
///     stage 3   parameters have memory only while they are in use
class Buckets {
public:
    /// Buckets of rank `rank` of `ranks`. Frozen parameters and second names of tied weights are left out.
    Buckets(std::vector<ParallelParameter> parameters, int rank, int ranks, const DataParallelOptions& options);
    Buckets(const Buckets&) = delete;
    Buckets& operator=(const Buckets&) = delete;

    const DataParallelOptions& options() const { return options_; }
    int rank() const { return rank_; }
    std::vector<Bucket>& all() { return buckets_; }
    const std::vector<Bucket>& all() const { return buckets_; }
    std::vector<Slot>& slots() { return slots_; }
    const std::vector<Slot>& slots() const { return slots_; }
    /// Index of a slot's parameter among those that train, in the order of the model.
    std::size_t parameter_of(std::size_t slot) const { return slots_.size() - 1 - slot; }
    /// This rank's range of `flat`, one of the bucket's flat tensors.
    torch::Tensor own_range(const torch::Tensor& flat, const Bucket& bucket) const;
    /// Gives memory, filled with zeros, to gradients that have none (ZeRO-2 and 3).
    static void take_gradients(Bucket& bucket);
    void zero_gradients();

private:
    void make_buckets();
    void make_storage(Bucket& bucket);
    void make_gradients(Bucket& bucket, const torch::TensorOptions& like);
    void make_parameters(Bucket& bucket, const torch::TensorOptions& like);

    int rank_, ranks_;
    DataParallelOptions options_;
    std::vector<Slot> slots_;  ///< in reverse order of the model
    std::vector<Bucket> buckets_;
};

}  // namespace plimsoll::engine
