// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/shared_channel.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <new>
#include <thread>

namespace plimsoll::engine {

namespace {

constexpr std::size_t lane_bytes = 4096;
constexpr long look_every_ns = 100'000'000;  ///< whether a peer has ended

// std::atomic::wait is of no use here: libstdc++'s futexes are private to a process.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
    const timespec limit{0, look_every_ns};
    ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
    ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/// Counts wrap around.
bool reached(std::uint32_t count, std::uint32_t wanted) { return static_cast<std::int32_t>(count - wanted) >= 0; }

}  // namespace

/// A rank's state as the others see it. It begins as zeros.
struct SharedChannel::Lane {
    alignas(64) std::atomic<std::uint32_t> met;
    std::atomic<std::uint32_t> closed;
    std::atomic<std::uint32_t> sleepers;
    alignas(64) std::uint64_t calls[slots];
};

std::size_t SharedChannel::bytes_for(int world_size) {
    return static_cast<std::size_t>(world_size) * (lane_bytes + slots * slot_bytes);
}

SharedChannel::SharedChannel(SharedMemory memory, std::vector<PeerProcess> peers, int rank)
    : memory_(std::move(memory)), peers_(std::move(peers)), rank_(rank) {
    static_assert(sizeof(Lane) <= lane_bytes && std::atomic<std::uint32_t>::is_always_lock_free);
    // Spins for some 20 microseconds only where each rank has a core: a rank that waits on a core that its peer needs
    // had better sleep.
    const bool cores = std::thread::hardware_concurrency() >= peers_.size();
    spins_ = cores ? 500 : 0;
}

SharedChannel::~SharedChannel() {
    Lane& own = lane(rank_);
    own.closed.store(1);
    wake_all(own.met);
}

SharedChannel::Lane& SharedChannel::lane(int rank) const {
    return *std::launder(reinterpret_cast<Lane*>(memory_.data() + static_cast<std::size_t>(rank) * lane_bytes));
}

std::byte* SharedChannel::slot(int rank, std::uint64_t chunk) const {
    const std::size_t number = static_cast<std::size_t>(rank) * slots + chunk % slots;
    return memory_.data() + peers_.size() * lane_bytes + number * slot_bytes;
}

std::uint64_t SharedChannel::next_chunk(std::uint64_t call) {
    lane(rank_).calls[chunks_ % slots] = call;
    return chunks_++;
}

Met SharedChannel::meet(const Patience& patience) {
    Lane& own = lane(rank_);
    const std::uint32_t count = own.met.fetch_add(1) + 1;
    if (own.sleepers.load() > 0) wake_all(own.met);
    const std::size_t newest = (chunks_ - 1) % slots;
    for (int peer = 0; peer < world_size(); ++peer) {
        if (peer == rank_) continue;
        if (const Met met = wait_for(peer, count, patience); met != Met::All) return met;
        if (lane(peer).calls[newest] != own.calls[newest]) return Met::Unlike;
    }
    return Met::All;
}

Met SharedChannel::wait_for(int peer, std::uint32_t wanted, const Patience& patience) const {
    Lane& other = lane(peer);
    for (int spin = 0; spin < spins_; ++spin) {
        if (reached(other.met.load(std::memory_order_acquire), wanted)) return Met::All;
        pause();
    }
    Deadline deadline(patience);
    for (;;) {
        // Read before the count: a rank that came and then left counts as come.
        const bool left = other.closed.load() != 0 || peers_[static_cast<std::size_t>(peer)].ended();
        // Announced before the count is read: either this rank sees the peer come, or the peer sees a sleeper.
        other.sleepers.fetch_add(1);
        const std::uint32_t count = other.met.load();
        const bool here = reached(count, wanted);
        if (!here && !left) sleep_while(other.met, count);
        other.sleepers.fetch_sub(1);
        if (here) return Met::All;
        if (left) return Met::Ended;
        if (reached(other.met.load(), wanted)) return Met::All;
        if (deadline.passed()) return Met::Silent;
    }
}

}  // namespace plimsoll::engine
