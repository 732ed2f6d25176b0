// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/shared_collectives.h"

#include <algorithm>
#include <cstring>

namespace plimsoll::engine {

namespace {

constexpr std::size_t line = 64;  ///< of the cache: slices begin at multiples of it
/// Up to this size each rank reduces everything itself: a second meeting costs more than the additions.
constexpr std::size_t small_bytes = 16 * 1024;
constexpr std::size_t block_bytes = 16 * 1024;

/// The properties of a call on which the ranks have to agree: the kind, the dtype, the number of bytes.
std::uint64_t call_of(unsigned kind, const torch::Tensor& tensor) {
    return (static_cast<std::uint64_t>(tensor.nbytes()) << 16U) |
           (static_cast<std::uint64_t>(tensor.scalar_type()) << 8U) | kind;
}

std::byte* bytes_of(const torch::Tensor& tensor) { return static_cast<std::byte*>(tensor.data_ptr()); }

struct Piece {
    std::size_t begin = 0, length = 0;  ///< in bytes
};

/// Piece `i` of `bytes` in steps of `step`.
Piece piece(std::size_t bytes, std::size_t step, std::size_t i) { return {i * step, std::min(step, bytes - i * step)}; }

std::size_t pieces(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step; }

/// The part of a chunk that a rank reduces.
Piece slice_of(std::size_t chunk, int rank, int world_size) {
    const std::size_t share = pieces(pieces(chunk, static_cast<std::size_t>(world_size)), line) * line;
    const std::size_t begin = std::min(chunk, static_cast<std::size_t>(rank) * share);
    return {begin, std::min(share, chunk - begin)};
}

/// The place of rank r's numbers: its slot, or for this rank its own tensor.
std::vector<const std::byte*> sources(const SharedChannel& channel, std::uint64_t chunk, std::size_t begin,
                                      const std::byte* own) {
    std::vector<const std::byte*> all;
    for (int rank = 0; rank < channel.world_size(); ++rank) {
        all.push_back(rank == channel.rank() ? own : channel.slot(rank, chunk) + begin);
    }
    return all;
}

/// An all-reduce in whose meeting k everybody has reduced its slice of chunk k - 1 and laid out chunk k.
class AllReduce {
public:
    AllReduce(SharedChannel& channel, Reduction reduction, const torch::Tensor& tensor)
        : channel_(channel),
          reduction_(reduction),
          dtype_(tensor.scalar_type()),
          size_(tensor.element_size()),
          data_(bytes_of(tensor)),
          bytes_(tensor.nbytes()),
          call_(call_of(reduction == Reduction::Sum ? 1 : 2, tensor)) {}

    Met run(const Patience& patience) {
        const std::size_t count = pieces(bytes_, SharedChannel::slot_bytes);
        std::uint64_t before = 0, now = lay_out(0);
        if (const Met met = channel_.meet(patience); met != Met::All) return met;
        for (std::size_t k = 0; k < count; ++k) {
            reduce_own(k, now);
            before = now;
            if (k + 1 < count) now = lay_out(k + 1);
            if (const Met met = channel_.meet(patience); met != Met::All) return met;
            collect(k, before);
        }
        return Met::All;
    }

    Met run_small(const Patience& patience) {
        const std::uint64_t chunk = channel_.next_chunk(call_);
        std::memcpy(channel_.slot(channel_.rank(), chunk), data_, bytes_);
        if (const Met met = channel_.meet(patience); met != Met::All) return met;
        reduce_numbers(reduction_, dtype_, data_, sources(channel_, chunk, 0, data_), bytes_ / size_);
        return Met::All;
    }

private:
    Piece piece_at(std::size_t k) const { return piece(bytes_, SharedChannel::slot_bytes, k); }

    /// Lays out the parts of chunk k that the others reduce; the own slice stays in place.
    std::uint64_t lay_out(std::size_t k) {
        const std::uint64_t chunk = channel_.next_chunk(call_);
        const Piece all = piece_at(k);
        const Piece own = slice_of(all.length, channel_.rank(), channel_.world_size());
        std::byte* const slot = channel_.slot(channel_.rank(), chunk);
        const std::size_t end = own.begin + own.length;
        std::memcpy(slot, data_ + all.begin, own.begin);
        std::memcpy(slot + end, data_ + all.begin + end, all.length - end);
        return chunk;
    }

    void reduce_own(std::size_t k, std::uint64_t chunk) {
        const Piece all = piece_at(k);
        const Piece own = slice_of(all.length, channel_.rank(), channel_.world_size());
        // In blocks, so that a result is still in the nearest cache when it is laid out.
        for (std::size_t b = 0; b < pieces(own.length, block_bytes); ++b) {
            const Piece block = piece(own.length, block_bytes, b);
            const std::size_t begin = own.begin + block.begin;
            std::byte* const result = data_ + all.begin + begin;
            reduce_numbers(reduction_, dtype_, result, sources(channel_, chunk, begin, result), block.length / size_);
            std::memcpy(channel_.slot(channel_.rank(), chunk) + begin, result, block.length);
        }
    }

    void collect(std::size_t k, std::uint64_t chunk) {
        const Piece all = piece_at(k);
        for (int rank = 0; rank < channel_.world_size(); ++rank) {
            if (rank == channel_.rank()) continue;
            const Piece slice = slice_of(all.length, rank, channel_.world_size());
            std::memcpy(data_ + all.begin + slice.begin, channel_.slot(rank, chunk) + slice.begin, slice.length);
        }
    }

    SharedChannel& channel_;
    Reduction reduction_;
    c10::ScalarType dtype_;
    std::size_t size_;
    std::byte* data_;
    std::size_t bytes_;
    std::uint64_t call_;
};

}  // namespace

Met shared_all_reduce(SharedChannel& channel, Reduction reduction, const torch::Tensor& tensor,
                      const Patience& patience) {
    if (tensor.numel() == 0) return Met::All;
    AllReduce all_reduce(channel, reduction, tensor);
    return tensor.nbytes() <= small_bytes ? all_reduce.run_small(patience) : all_reduce.run(patience);
}

Met shared_all_gather(SharedChannel& channel, const torch::Tensor& output, const torch::Tensor& input,
                      const Patience& patience) {
    const std::size_t bytes = input.nbytes();
    const std::byte* const own = bytes_of(input);
    std::byte* const all = bytes_of(output);
    std::byte* const place = all + static_cast<std::size_t>(channel.rank()) * bytes;
    if (place != own) std::memmove(place, own, bytes);  // the input may be a part of the output
    for (std::size_t k = 0; k < pieces(bytes, SharedChannel::slot_bytes); ++k) {
        const Piece part = piece(bytes, SharedChannel::slot_bytes, k);
        const std::uint64_t chunk = channel.next_chunk(call_of(3, input));
        std::memcpy(channel.slot(channel.rank(), chunk), place + part.begin, part.length);
        if (const Met met = channel.meet(patience); met != Met::All) return met;
        for (int rank = 0; rank < channel.world_size(); ++rank) {
            if (rank == channel.rank()) continue;
            std::memcpy(all + static_cast<std::size_t>(rank) * bytes + part.begin, channel.slot(rank, chunk),
                        part.length);
        }
    }
    return Met::All;
}

Met shared_reduce_scatter(SharedChannel& channel, const torch::Tensor& output, const torch::Tensor& input,
                          const Patience& patience) {
    const auto world_size = static_cast<std::size_t>(channel.world_size());
    const std::size_t bytes = output.nbytes(), size = output.element_size();
    const std::byte* const all = bytes_of(input);
    // A chunk holds a stretch of every rank's part.
    const std::size_t step = SharedChannel::slot_bytes / world_size / line * line;
    for (std::size_t k = 0; k < pieces(bytes, step); ++k) {
        const Piece part = piece(bytes, step, k);
        const std::uint64_t chunk = channel.next_chunk(call_of(4, output));
        for (std::size_t rank = 0; rank < world_size; ++rank) {
            if (static_cast<int>(rank) == channel.rank()) continue;
            std::memcpy(channel.slot(channel.rank(), chunk) + rank * step, all + rank * bytes + part.begin,
                        part.length);
        }
        if (const Met met = channel.meet(patience); met != Met::All) return met;
        const auto own = static_cast<std::size_t>(channel.rank());
        reduce_numbers(Reduction::Sum, output.scalar_type(), bytes_of(output) + part.begin,
                       sources(channel, chunk, own * step, all + own * bytes + part.begin), part.length / size);
    }
    return Met::All;
}

Met shared_broadcast(SharedChannel& channel, const torch::Tensor& tensor, int root, const Patience& patience) {
    const std::size_t bytes = tensor.nbytes();
    for (std::size_t k = 0; k < pieces(bytes, SharedChannel::slot_bytes); ++k) {
        const Piece part = piece(bytes, SharedChannel::slot_bytes, k);
        const std::uint64_t chunk = channel.next_chunk(call_of(8U + static_cast<unsigned>(root), tensor));
        std::byte* const slot = channel.slot(root, chunk);
        if (channel.rank() == root) std::memcpy(slot, bytes_of(tensor) + part.begin, part.length);
        if (const Met met = channel.meet(patience); met != Met::All) return met;
        if (channel.rank() != root) std::memcpy(bytes_of(tensor) + part.begin, slot, part.length);
    }
    return Met::All;
}

}  // namespace plimsoll::engine
