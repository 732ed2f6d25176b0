// SPDX-License-Identifier: Apache-2.0
// A model of PyTorch's CUDA caching allocator: the segments that a sequence of requests makes it take from the card.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/allocator/allocator_settings.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// Figures after a sequence of requests; the peaks are since the start.
struct AllocatorFigures {
    Bytes requested = 0;  ///< as asked for
    Bytes allocated = 0;  ///< as handed out, rounded up
    Bytes reserved = 0;   ///< segments taken from the card
    Bytes requested_peak = 0, allocated_peak = 0, reserved_peak = 0;
    std::int64_t segments = 0;      ///< cudaMalloc calls not yet freed, or expandable segments with memory
    Bytes inactive_split = 0;       ///< free parts of segments in use: the card cannot get them back
    std::int64_t retries = 0;       ///< times that the card was full and unused segments were given back
    double fragmentation() const {  ///< share of the reserved bytes that nobody holds now
        return reserved == 0 ? 0 : 1 - static_cast<double>(allocated) / static_cast<double>(reserved);
    }
};

/// One stream of one card, by the rules of c10/cuda/CUDACachingAllocator.cpp (PyTorch 2.11):
///
///     rounding    requests to multiples of 512 B (or to steps between powers of two: roundup_power2_divisions)
///     pools       up to 1 MiB the small pool, with segments of 2 MiB; beyond it the large pool, with segments of
///                 20 MiB for less than 10 MiB and of the request in multiples of 2 MiB otherwise
///     choice      the smallest free block that is large enough, the lowest address among equals
///     splitting   where 512 B remain (small pool, expandable segments) or more than 1 MiB (large pool); blocks of
///                 max_split_size and more are never split, and taken only by requests of that size that leave
///                 less than 20 MiB
///     freeing     neighbours within a segment are merged
///     full card   oversize blocks of the size are given back (max_split_size), then all segments that nobody uses
///
/// Addresses count up and are never used again, where the driver may give the same ones anew: that could change a
/// choice among blocks of equal size, never a size.
class CachingAllocator {
public:
    /// `capacity`: memory of the card for this allocator; 0: unlimited.
    explicit CachingAllocator(const AllocatorSettings& settings = {}, Bytes capacity = 0);
    ~CachingAllocator();
    CachingAllocator(const CachingAllocator&) = delete;
    CachingAllocator& operator=(const CachingAllocator&) = delete;

    /// A handle for free(); requests of 0 B take no memory. The error of a full card has PyTorch's figures.
    Result<std::int64_t> allocate(Bytes bytes);
    /// `handle` comes from allocate() and was not freed since.
    void free(std::int64_t handle);
    /// torch.cuda.empty_cache(): segments that nobody uses go back.
    void release_unused();

    const AllocatorFigures& figures() const { return figures_; }

    static constexpr Bytes smallest_block = 512;
    static constexpr Bytes small_request = MiB;
    static constexpr Bytes small_segment = 2 * MiB;
    static constexpr Bytes large_segment = 20 * MiB;
    static constexpr Bytes large_request = 10 * MiB;
    static constexpr Bytes segment_step = 2 * MiB;

    Bytes rounded(Bytes bytes) const;

private:
    struct Block;
    struct BySize {
        bool operator()(const Block* a, const Block* b) const;
    };
    struct ByAddress {
        bool operator()(const Block* a, const Block* b) const;
    };
    struct Pool {
        bool small = false;
        std::set<Block*, BySize> free;
        std::set<Block*, ByAddress> unmapped;  ///< address space of expandable segments without memory
        std::int64_t searches = 0;
    };

    Block* make_block(Pool& pool, std::int64_t address, Bytes bytes);
    void erase_block(Block* block);
    Block* take_free(Pool& pool, Bytes bytes);
    Block* take_segment(Pool& pool, Bytes bytes);
    Block* expand(Pool& pool, Bytes bytes);
    bool map(Block* block, Bytes bytes);
    bool unmap_pages(Block* block);
    bool merge(Block* block, Block* neighbour);
    void put_back(Block* block);
    bool should_split(const Block& block, Bytes bytes) const;
    bool release_oversize(Bytes bytes);
    void collect_garbage();
    void give_back(Block* block);
    void reserve(Bytes bytes);
    bool has_room(Bytes bytes) const { return capacity_ == 0 || figures_.reserved + bytes <= capacity_; }
    tl::unexpected<Error> out_of_memory(Bytes bytes) const;

    AllocatorSettings settings_;
    Bytes capacity_;
    Pool small_, large_;
    std::vector<std::unique_ptr<Block>> blocks_;  ///< by handle; freed entries are empty and used again
    std::vector<std::int64_t> unused_handles_;
    std::int64_t next_address_ = 0;
    AllocatorFigures figures_;
};

}  // namespace plimsoll
