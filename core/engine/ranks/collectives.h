// SPDX-License-Identifier: Apache-2.0
// Messages between ranks. The one place, with its .cpp, that touches c10d's process groups, which change between
// releases.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/engine/ranks/rank_info.h"

namespace plimsoll::engine {

class Accelerator;

/// A pending collective; wait() throws nothing, it returns the error (a peer that died, a time-out).
class Work {
public:
    virtual ~Work() = default;
    virtual Result<void> wait() = 0;
};

/// Inside autograd an error can only be thrown; the trainer catches it and ends the rank with its sentence.
class CollectiveError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};
inline void must(const Result<void>& result) {
    if (!result) throw CollectiveError(result.error().message);
}

/// A tensor to or from another rank of a group.
struct Message {
    torch::Tensor tensor;
    int peer = 0;
    int tag = 0;  ///< tells the messages of a pair apart, where the backend has tags
};

/// A group of ranks. The tensor's device chooses the backend: Gloo and shared memory for CPU tensors, NCCL (through
/// plimsoll-cuda) for those of an accelerator, which a group on CPUs has not. All ranks of the group must make the same
/// calls in the same order. Nothing here throws. Tensors must be contiguous; the caller may read and write them again
/// after wait(), which for an accelerator's tensors only orders the device's later work.
class Collectives {
public:
    virtual ~Collectives() = default;
    /// Place in this group and its size.
    virtual int rank() const = 0;
    virtual int world_size() const = 0;
    virtual std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) = 0;
    virtual std::shared_ptr<Work> all_reduce_max(torch::Tensor tensor) = 0;
    /// `output` holds world_size parts of the size of `input`, in the order of ranks.
    virtual std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) = 0;
    /// `input` holds world_size parts of the size of `output`; rank r gets the sum over all ranks of part r.
    virtual std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) = 0;
    /// Row counts (dimension 0) to and from each rank.
    virtual std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input,
                                             std::vector<std::int64_t> output_rows,
                                             std::vector<std::int64_t> input_rows) = 0;
    /// Between a pair a tag tells messages apart. NCCL has none, and queues both directions behind one another: there,
    /// messages that are not part of an exchange go through one_way() groups (message_links.h), in order.
    virtual std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) = 0;
    virtual std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) = 0;
    /// Messages that start together, so that no rank's send waits for its receive. Each rank that a message of another
    /// rank goes to or comes from calls it.
    virtual std::shared_ptr<Work> exchange(std::vector<Message> sends, std::vector<Message> receives);
    /// `timeout` 0: the group's. A longer one lets the others wait while one rank writes a checkpoint, for a CPU tensor:
    /// NCCL's watchdog knows the group's alone.
    virtual Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) = 0;
    virtual Result<void> barrier(Seconds timeout) = 0;
    Result<void> broadcast(torch::Tensor tensor, int root) { return broadcast(std::move(tensor), root, 0); }
    Result<void> barrier() { return barrier(0); }

    /// How long this rank has waited so far in calls of this group and of every group made from the same world.
    virtual Seconds waited() const { return 0; }

    /// Makes a group of some of these ranks. To be called by each of `members` (ranks in this group, ascending) and by
    /// no other rank. `name` tells it apart from other groups and stands in messages: "tensor-parallel".
    virtual Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) = 0;

    /// A group of two ranks of this one for the accelerator's tensors that go from the first (then rank 0) to the second
    /// (rank 1), connected when this returns. To be called by these two and by no other rank, in one order of pairs on all
    /// ranks. Null where messages have tags and each goes its own way: then send() and receive() of this group do.
    virtual Result<std::unique_ptr<Collectives>> one_way(const std::string& name, int from, int to);
};

/// The group of all ranks. world_size 1 needs no store and no network. A collective is an error when a rank has not come
/// for `timeout` and nobody has computed meanwhile (core/engine/base/patience.h; under NCCL: when it takes longer). With an
/// accelerator the group works on the accelerator's tensors beside those of the CPU; select() was called before.
Result<std::unique_ptr<Collectives>> make_collectives(const RankInfo& info, Seconds timeout,
                                                      Accelerator* accelerator = nullptr);

/// A group of one rank: every collective is done at once; sending a message is an error.
std::unique_ptr<Collectives> single_rank();

}  // namespace plimsoll::engine
