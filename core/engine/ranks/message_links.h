// SPDX-License-Identifier: Apache-2.0
// Messages between neighbours of a pipeline, each direction in a queue of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// A direction of a link: ranks of a group.
struct Direction {
    int from = 0, to = 0;
};

/// The messages of one rank of a group. Where the backend has tags (Gloo) they go through the group. Where it has none
/// (NCCL), each direction has a group of two ranks, so that a receive never waits for a send of the same rank; messages
/// of a direction are received in the order in which they are sent (core/schedule/transfers.h).
class MessageLinks {
public:
    /// Of no rank: the messages of a group of one.
    MessageLinks() = default;
    /// Connects the directions that this rank takes part in. `members[i]` is the rank of `world` that is rank i of `group`,
    /// which must outlive the links. All ranks of the group give the same directions in the same order: so the first
    /// that is not connected yet always has both its ranks there, and nobody waits in a circle.
    static Result<MessageLinks> make(const std::string& name, Collectives& world, Collectives& group,
                                     const std::vector<int>& members, const std::vector<Direction>& directions);

    std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) const;
    std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) const;

private:
    Collectives* group_ = nullptr;
    /// In the order of connecting, in which all ranks end them too. Empty where the group carries the messages.
    std::vector<std::unique_ptr<Collectives>> pairs_;
    std::map<int, Collectives*> to_, from_;  ///< by peer
};

/// Both directions between each rank and the next in the order of ranks, and, for a ring, between the last and the first.
std::vector<Direction> directions_along(int ranks, bool ring);

}  // namespace plimsoll::engine
