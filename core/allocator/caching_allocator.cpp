// SPDX-License-Identifier: Apache-2.0
#include "core/allocator/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace plimsoll {

struct CachingAllocator::Block {
    std::int64_t handle = 0;
    std::int64_t address = 0;
    Bytes bytes = 0;
    Bytes requested = 0;
    Pool* pool = nullptr;
    Block* before = nullptr;  ///< neighbours in the segment
    Block* after = nullptr;
    bool allocated = false;
    bool expandable = false;  ///< of an expandable segment
    bool mapped = true;       ///< has memory
    std::int64_t segment_address = 0;
    std::int64_t searches_before = 0;  ///< of the pool when it became free

    bool split() const { return before != nullptr || after != nullptr; }
    bool whole_and_free() const { return !allocated && !split() && !expandable; }
    std::int64_t age() const { return pool->searches - searches_before; }
    Bytes page() const { return pool->small ? small_segment : large_segment; }
    /// With the address space behind it: what it can grow to.
    Bytes room() const { return bytes + (after != nullptr && !after->mapped ? after->bytes : 0); }
};

namespace {

Bytes rounded_up(Bytes bytes, Bytes step) { return (bytes + step - 1) / step * step; }

/// Address space of an expandable segment where the card's size is not known: beyond any card.
constexpr Bytes boundless = Bytes{1} << 46;

}  // namespace

bool CachingAllocator::BySize::operator()(const Block* a, const Block* b) const {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}
bool CachingAllocator::ByAddress::operator()(const Block* a, const Block* b) const { return a->address < b->address; }

CachingAllocator::CachingAllocator(const AllocatorSettings& settings, Bytes capacity)
    : settings_(settings), capacity_(capacity) {
    small_.small = true;
}
CachingAllocator::~CachingAllocator() = default;

Bytes CachingAllocator::rounded(Bytes bytes) const {
    if (bytes < smallest_block) return smallest_block;
    const std::int64_t divisions = settings_.roundup_power2_divisions;
    if (divisions <= 1 || bytes <= smallest_block * divisions) return rounded_up(bytes, smallest_block);
    const auto floor = static_cast<Bytes>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
    return bytes == floor ? bytes : rounded_up(bytes, floor / divisions);
}

CachingAllocator::Block* CachingAllocator::make_block(Pool& pool, std::int64_t address, Bytes bytes) {
    std::int64_t handle = static_cast<std::int64_t>(blocks_.size());
    if (unused_handles_.empty()) {
        blocks_.emplace_back();
    } else {
        handle = unused_handles_.back();
        unused_handles_.pop_back();
    }
    auto block = std::make_unique<Block>();
    block->handle = handle;
    block->address = address;
    block->bytes = bytes;
    block->pool = &pool;
    block->segment_address = address;
    Block* const made = block.get();
    blocks_[static_cast<std::size_t>(handle)] = std::move(block);
    return made;
}

void CachingAllocator::erase_block(Block* block) {
    const std::int64_t handle = block->handle;
    unused_handles_.push_back(handle);
    blocks_[static_cast<std::size_t>(handle)].reset();
}

void CachingAllocator::reserve(Bytes bytes) {
    figures_.reserved += bytes;
    figures_.reserved_peak = std::max(figures_.reserved_peak, figures_.reserved);
}

Result<std::int64_t> CachingAllocator::allocate(Bytes requested) {
    if (requested == 0) return make_block(small_, 0, 0)->handle;
    if (requested > std::numeric_limits<Bytes>::max() / 2) return out_of_memory(requested);
    const Bytes bytes = rounded(requested);
    Pool& pool = bytes <= small_request ? small_ : large_;
    Block* block = take_free(pool, bytes);
    if (block == nullptr) {
        collect_garbage();
        block = take_segment(pool, bytes);
    }
    if (block == nullptr && release_oversize(bytes)) block = take_segment(pool, bytes);
    if (block == nullptr) {
        ++figures_.retries;
        release_unused();
        block = take_segment(pool, bytes);
    }
    if (block == nullptr) return out_of_memory(requested);

    const bool was_split = block->split();
    const Bytes before = block->bytes;
    if (should_split(*block, bytes)) {
        Block* const rest = make_block(pool, block->address + bytes, block->bytes - bytes);
        rest->expandable = block->expandable;
        rest->segment_address = block->segment_address;
        rest->before = block;
        rest->after = block->after;
        if (rest->after != nullptr) rest->after->before = rest;
        block->after = rest;
        block->bytes = bytes;
        rest->searches_before = pool.searches;
        pool.free.insert(rest);
        if (!rest->expandable) figures_.inactive_split += was_split ? -bytes : rest->bytes;
    } else if (was_split && !block->expandable) {
        figures_.inactive_split -= before;
    }
    block->allocated = true;
    block->requested = requested;
    figures_.requested += requested;
    figures_.allocated += block->bytes;
    figures_.requested_peak = std::max(figures_.requested_peak, figures_.requested);
    figures_.allocated_peak = std::max(figures_.allocated_peak, figures_.allocated);
    return block->handle;
}

void CachingAllocator::free(std::int64_t handle) {
    Block* const block = blocks_[static_cast<std::size_t>(handle)].get();
    if (block->bytes == 0) return erase_block(block);
    block->allocated = false;
    figures_.requested -= block->requested;
    figures_.allocated -= block->bytes;
    put_back(block);
}

/// A block that nobody uses any longer, merged with its neighbours.
void CachingAllocator::put_back(Block* block) {
    const Bytes own = block->bytes;
    Bytes counted = 0;  ///< of what it is merged with
    for (Block* neighbour : {block->before, block->after}) {
        const Bytes bytes = neighbour != nullptr ? neighbour->bytes : 0;
        if (merge(block, neighbour)) counted += bytes;
    }
    block->searches_before = block->pool->searches;
    block->pool->free.insert(block);
    if (!block->expandable) figures_.inactive_split += block->split() ? own : -counted;
}

/// `neighbour` becomes part of `block` where both are free and have memory, or both have none.
bool CachingAllocator::merge(Block* block, Block* neighbour) {
    if (neighbour == nullptr || neighbour->allocated || neighbour->mapped != block->mapped) return false;
    if (neighbour->mapped) {
        neighbour->pool->free.erase(neighbour);
    } else {
        neighbour->pool->unmapped.erase(neighbour);
    }
    if (block->before == neighbour) {
        block->address = neighbour->address;
        block->before = neighbour->before;
        if (block->before != nullptr) block->before->after = block;
    } else {
        block->after = neighbour->after;
        if (block->after != nullptr) block->after->before = block;
    }
    block->bytes += neighbour->bytes;
    erase_block(neighbour);
    return true;
}

bool CachingAllocator::should_split(const Block& block, Bytes bytes) const {
    const Bytes rest = block.bytes - bytes;
    if (block.pool->small || settings_.expandable_segments) return rest >= smallest_block;
    return (settings_.max_split_size == 0 || bytes < settings_.max_split_size) && rest > small_request;
}

CachingAllocator::Block* CachingAllocator::take_free(Pool& pool, Bytes bytes) {
    ++pool.searches;
    Block key;
    key.bytes = bytes;
    key.address = std::numeric_limits<std::int64_t>::min();
    auto found = pool.free.lower_bound(&key);
    if (found == pool.free.end()) return nullptr;
    if (settings_.expandable_segments) {
        // A block at the end of the mapped pages counts with what it could grow to: it is the last choice.
        for (auto next = std::next(found);
             (*found)->expandable && next != pool.free.end() && (*next)->room() < (*found)->room(); ++next) {
            found = next;
        }
    }
    Block* const block = *found;
    const Bytes limit = settings_.max_split_size;
    if (limit > 0 && bytes < limit && block->bytes >= limit) return nullptr;
    if (limit > 0 && bytes >= limit && block->bytes >= bytes + large_segment) return nullptr;
    pool.free.erase(found);
    return block;
}

CachingAllocator::Block* CachingAllocator::take_segment(Pool& pool, Bytes bytes) {
    if (settings_.expandable_segments) return expand(pool, bytes);
    const Bytes segment = pool.small              ? small_segment
                          : bytes < large_request ? large_segment
                                                  : rounded_up(bytes, segment_step);
    if (!has_room(segment)) return nullptr;
    Block* const block = make_block(pool, next_address_, segment);
    next_address_ += segment;
    ++figures_.segments;
    reserve(segment);
    return block;
}

/// Memory at the lowest address of an expandable segment where `bytes` fit, together with what is free before it.
CachingAllocator::Block* CachingAllocator::expand(Pool& pool, Bytes bytes) {
    const auto fits = [bytes](const Block* block) {
        Bytes room = 0;
        for (; room < bytes && block != nullptr && !block->allocated; block = block->after) room += block->bytes;
        return room >= bytes;
    };
    Block* candidate = nullptr;
    for (Block* each : pool.unmapped) {
        Block* const first = each->before != nullptr && !each->before->allocated ? each->before : each;
        if (!fits(first)) continue;
        candidate = first;
        break;
    }
    if (candidate == nullptr) {
        const Bytes page = pool.small ? small_segment : large_segment;
        const Bytes space = capacity_ == 0 ? boundless : rounded_up(capacity_ + capacity_ / 8, page);
        if (space < bytes) return nullptr;
        candidate = make_block(pool, next_address_, space);
        next_address_ += space;
        candidate->expandable = true;
        candidate->mapped = false;
        pool.unmapped.insert(candidate);
        ++figures_.segments;
    }
    if (!candidate->mapped && !map(candidate, std::min(candidate->bytes, bytes))) return nullptr;
    while (candidate->bytes < bytes) {
        Block* const next = candidate->after;
        if (!map(next, std::min(bytes - candidate->bytes, next->bytes))) return nullptr;
        candidate = next;
    }
    pool.free.erase(candidate);
    return candidate;
}

/// Gives memory to the first `bytes` of a block without, in whole pages, and merges it with its neighbours.
bool CachingAllocator::map(Block* block, Bytes bytes) {
    const Bytes mapped = std::min(rounded_up(bytes, block->page()), block->bytes);
    if (!has_room(mapped)) return false;
    Pool& pool = *block->pool;
    pool.unmapped.erase(block);
    block->mapped = true;
    if (mapped < block->bytes) {
        Block* const rest = make_block(pool, block->address + mapped, block->bytes - mapped);
        rest->expandable = true;
        rest->mapped = false;
        rest->segment_address = block->segment_address;
        rest->before = block;
        rest->after = block->after;
        if (rest->after != nullptr) rest->after->before = rest;
        block->after = rest;
        block->bytes = mapped;
        pool.unmapped.insert(rest);
    }
    merge(block, block->before);
    merge(block, block->after);
    block->searches_before = pool.searches;
    pool.free.insert(block);
    reserve(mapped);
    return true;
}

/// The whole pages of a free block of an expandable segment go back to the card.
bool CachingAllocator::unmap_pages(Block* block) {
    const Bytes page = block->page();
    const std::int64_t offset = block->address - block->segment_address;
    const std::int64_t begin = rounded_up(offset, page), end = (offset + block->bytes) / page * page;
    if (end <= begin) return false;
    Pool& pool = *block->pool;
    pool.free.erase(block);
    const auto cut = [&](Block* from, Bytes bytes) {
        Block* const rest = make_block(pool, from->address + bytes, from->bytes - bytes);
        rest->expandable = true;
        rest->segment_address = from->segment_address;
        rest->before = from;
        rest->after = from->after;
        if (rest->after != nullptr) rest->after->before = rest;
        from->after = rest;
        from->bytes = bytes;
        return rest;
    };
    if (begin > offset) {
        Block* const middle = cut(block, begin - offset);
        block->searches_before = pool.searches;
        pool.free.insert(block);
        block = middle;
    }
    if (block->bytes > end - begin) {
        Block* const rest = cut(block, end - begin);
        rest->searches_before = pool.searches;
        pool.free.insert(rest);
    }
    block->mapped = false;
    figures_.reserved -= end - begin;
    merge(block, block->before);
    merge(block, block->after);
    pool.unmapped.insert(block);
    return true;
}

void CachingAllocator::give_back(Block* block) {
    block->pool->free.erase(block);
    figures_.reserved -= block->bytes;
    --figures_.segments;
    erase_block(block);
}

void CachingAllocator::release_unused() {
    for (Pool* pool : {&small_, &large_}) {
        const std::vector<Block*> free(pool->free.begin(), pool->free.end());
        for (Block* block : free) {
            if (block->expandable) {
                unmap_pages(block);
            } else if (block->whole_and_free()) {
                give_back(block);
            }
        }
    }
}

/// Under max_split_size: a block that cannot be split is given back for one that fits, or several smaller ones are.
bool CachingAllocator::release_oversize(Bytes bytes) {
    if (settings_.max_split_size == 0) return false;
    Block key;
    key.bytes = std::max(bytes, settings_.max_split_size);
    key.address = std::numeric_limits<std::int64_t>::min();
    const auto found = large_.free.lower_bound(&key);
    if (found != large_.free.end()) {
        if (!(*found)->whole_and_free()) return false;
        give_back(*found);
        return true;
    }
    Bytes released = 0;
    while (released < key.bytes && !large_.free.empty()) {
        Block* const largest = *large_.free.rbegin();
        if (largest->bytes < settings_.max_split_size || !largest->whole_and_free()) break;
        released += largest->bytes;
        give_back(largest);
    }
    return released >= key.bytes;
}

/// Above the threshold, unused large segments go back that were passed over as often as the mean of them or more.
void CachingAllocator::collect_garbage() {
    if (settings_.garbage_collection_threshold <= 0 || capacity_ == 0) return;
    const auto limit = static_cast<Bytes>(settings_.garbage_collection_threshold * static_cast<double>(capacity_));
    if (figures_.reserved <= limit) return;
    const Bytes target = figures_.reserved - limit;
    std::vector<Block*> unused;
    for (Block* block : large_.free) {
        if (block->whole_and_free()) unused.push_back(block);
    }
    Bytes reclaimed = 0;
    bool freed = true;
    while (reclaimed < target && freed && !unused.empty()) {
        double ages = 0;
        for (const Block* block : unused) ages += static_cast<double>(block->age());
        const double mean = ages / static_cast<double>(unused.size());
        freed = false;
        std::erase_if(unused, [&](Block* block) {
            if (static_cast<double>(block->age()) < mean) return false;
            freed = true;
            reclaimed += block->bytes;
            give_back(block);
            return true;
        });
    }
}

tl::unexpected<Error> CachingAllocator::out_of_memory(Bytes bytes) const {
    return failed(
        "CUDA out of memory: tried to allocate {}; of the card's {} for tensors {} are free, {} are allocated and {} "
        "reserved but not allocated{}",
        format_bytes(bytes), format_bytes(capacity_), format_bytes(capacity_ - figures_.reserved),
        format_bytes(figures_.allocated), format_bytes(figures_.reserved - figures_.allocated),
        settings_.expandable_segments ? "" : " (expandable_segments:True may help where the last one is large)");
}

}  // namespace plimsoll
