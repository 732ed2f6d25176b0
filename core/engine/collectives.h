// SPDX-License-Identifier: Apache-2.0
// The one file that touches c10d and other LibTorch interfaces that change between releases.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll::engine {

/// Where this process stands, from RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun, our supervisor)
/// or SLURM_PROCID, SLURM_LOCALID, SLURM_NTASKS.
struct RankInfo {
    int rank = 0;
    int local_rank = 0;
    int world_size = 1;
    std::string master_addr = "127.0.0.1";
    int master_port = 0;
    static Result<RankInfo> from_environment();
};

/// A pending collective; wait() throws nothing, it returns the error (a peer that died, a time-out).
class Work {
public:
    virtual ~Work() = default;
    virtual Result<void> wait() = 0;
};

/// The group of all ranks: Gloo on CPU tensors, NCCL (through plimsoll-cuda) on CUDA tensors.
class Collectives {
public:
    virtual ~Collectives() = default;
    virtual int rank() const = 0;
    virtual int world_size() const = 0;
    virtual std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) = 0;
    virtual Result<void> broadcast(torch::Tensor tensor, int root) = 0;
    virtual Result<void> barrier() = 0;
};

/// world_size 1 needs no store and no network.
Result<std::unique_ptr<Collectives>> make_collectives(const RankInfo& info, Seconds timeout);

/// Serves a c10d TCPStore until stdin closes: the supervisor keeps it in a process of its own, so that it outlives
/// any rank. Prints the port in one line.
Result<void> serve_store(int port);

}  // namespace plimsoll::engine
