// SPDX-License-Identifier: Apache-2.0
// What a group of data-parallel ranks is told about its parameters.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>

#include "core/engine/optimizer/state_store.h"
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

    /// ZeRO-2 and 3: of gradients only this rank's shard stays.
    bool sharded_gradients() const { return zero_stage >= 2; }
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

}  // namespace plimsoll::engine
