// SPDX-License-Identifier: Apache-2.0
// Parameters of a group of data-parallel ranks, and how the group treats them.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <string>

#include "core/base/units.h"
#include "core/engine/optimizer/state_store.h"
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

    /// Whether only this rank's shard of the gradients stays: under ZeRO-2 and 3.
    bool sharded_gradients() const { return zero_stage >= 2; }
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

}  // namespace plimsoll::engine
