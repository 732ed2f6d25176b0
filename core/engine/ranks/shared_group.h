// SPDX-License-Identifier: Apache-2.0
// A group whose ranks are all on one machine talks through shared memory.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "core/engine/ranks/collectives.h"
#include "core/engine/ranks/wait_board.h"

namespace plimsoll::engine {

/// Where and under which name a group meets.
struct GroupMeeting {
    c10d::Store& store;  ///< of the group alone
    std::string name;    ///< empty for the group of all ranks
    Seconds timeout = 0;
    WaitBoard* board = nullptr;  ///< outlives the group
};

/// `group` itself, or one around it that makes its sums, maxima, gathers and broadcasts of CPU tensors in shared memory
/// (shared_collectives.h) and leaves all else to it: messages, all-to-all, barriers. Results are the same bits on every
/// rank and in every run. A rank that has ended is noticed within a fraction of a second, whatever the time-out.
///
/// All ranks of the group call it and decide alike: each says in the store where it runs and whether it could map the
/// memory, and one that is elsewhere, or has PLIMSOLL_SHARED_MEMORY=0, keeps all with `group`. May throw what the store
/// throws.
std::unique_ptr<Collectives> with_shared_memory(std::unique_ptr<Collectives> group, const GroupMeeting& meeting);

}  // namespace plimsoll::engine
