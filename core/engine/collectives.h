// SPDX-License-Identifier: Apache-2.0
// The one file that touches c10d and other LibTorch interfaces that change between releases.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <utility>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/engine/rank_info.h"

namespace plimsoll::engine {

class Accelerator;

/// A pending collective; wait() throws nothing, it returns the error (a peer that died, a time-out).
class Work {
public:
    virtual ~Work() = default;
    virtual Result<void> wait() = 0;
};

/// The group of all ranks: Gloo on CPU tensors, NCCL (through plimsoll-cuda) on CUDA tensors. Every rank has to make
/// the same calls in the same order. Nothing here throws.
class Collectives {
public:
    virtual ~Collectives() = default;
    virtual int rank() const = 0;
    virtual int world_size() const = 0;
    /// Starts at once; the tensor may be read and written again after wait().
    virtual std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) = 0;
    /// `timeout` 0: the group's. A longer one lets the others wait while one rank writes a checkpoint.
    virtual Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) = 0;
    virtual Result<void> barrier(Seconds timeout) = 0;
    Result<void> broadcast(torch::Tensor tensor, int root) { return broadcast(std::move(tensor), root, 0); }
    Result<void> barrier() { return barrier(0); }
};

/// world_size 1 needs no store and no network. A collective that takes longer than `timeout` is an error. With an
/// accelerator the group works on its tensors.
Result<std::unique_ptr<Collectives>> make_collectives(const RankInfo& info, Seconds timeout,
                                                      Accelerator* accelerator = nullptr);

}  // namespace plimsoll::engine
