// SPDX-License-Identifier: Apache-2.0
// Ranks of one machine that meet in shared memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/engine/base/patience.h"
#include "core/engine/ranks/shared_memory/peer_process.h"
#include "core/engine/ranks/shared_memory/shared_memory.h"

namespace plimsoll::engine {

/// How a meeting ended.
enum class Met { All, Silent, Ended, Unlike };

/// Each rank has a count of the meetings it has come to, and a ring of three slots, which it writes and the others
/// read. Writing chunk k overwrites chunk k - 3. One rule makes the ring safe: a meeting lies between the last reading
/// of a chunk and the writing of the chunk three later. So a chunk may be read until the meeting after that of the next
/// chunk.
///
/// A rank that waits spins shortly, then sleeps on the other's count (futex(2)); ten times a second the waiting rank
/// checks whether the other's process still runs.
class SharedChannel {
public:
    static constexpr std::size_t slot_bytes = 256 * 1024;
    static constexpr std::size_t slots = 3;
    static std::size_t bytes_for(int world_size);

    /// `peers` in the order of ranks; this rank's own place counts as well.
    SharedChannel(SharedMemory memory, std::vector<PeerProcess> peers, int rank);
    /// Tells the others that this rank comes to no more meetings.
    ~SharedChannel();
    SharedChannel(const SharedChannel&) = delete;
    SharedChannel& operator=(const SharedChannel&) = delete;

    int rank() const { return rank_; }
    int world_size() const { return static_cast<int>(peers_.size()); }
    std::byte* slot(int rank, std::uint64_t chunk) const;
    /// A number for the next chunk that this rank writes; `call` has to be the same on all ranks that meet.
    std::uint64_t next_chunk(std::uint64_t call);
    /// Tells the others that this rank is here, and waits for all of them. What each wrote before can be read after.
    Met meet(const Patience& patience);

private:
    struct Lane;
    Lane& lane(int rank) const;
    Met wait_for(int peer, std::uint32_t count, const Patience& patience) const;

    SharedMemory memory_;
    std::vector<PeerProcess> peers_;
    int rank_;
    int spins_;
    std::uint64_t chunks_ = 0;
};

}  // namespace plimsoll::engine
