// SPDX-License-Identifier: Apache-2.0
// Which pairs of tokens merge, in which order, and into what: a flat table, since every step of BPE asks it.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/tokenizer/tokenizer_model.h"

namespace plimsoll {

class PairRanks {
public:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct Merge {
        std::uint32_t rank = none;
        TokenId made = -1;
    };

    explicit PairRanks(std::size_t merges) : slots_(std::bit_ceil(merges * 2 + 2)) {}

    /// A pair that is named twice keeps its later rank, as in the `tokenizers` library. At most as many as were announced.
    void add(TokenId left, TokenId right, std::uint32_t rank, TokenId made) {
        Slot& slot = slots_[place_of(key_of(left, right))];
        slot = {key_of(left, right), {rank, made}};
    }
    /// Rank `none` where the two do not merge.
    Merge of(TokenId left, TokenId right) const { return slots_[place_of(key_of(left, right))].merge; }

private:
    static constexpr std::uint64_t empty = ~std::uint64_t{0};
    struct Slot {
        std::uint64_t key = empty;
        Merge merge;
    };

    static std::uint64_t key_of(TokenId left, TokenId right) {
        return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
    }
    /// Of the key, or of the free slot that it would take.
    std::size_t place_of(std::uint64_t key) const {
        std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
        mixed ^= mixed >> 32;
        std::size_t place = mixed & (slots_.size() - 1);
        while (slots_[place].key != key && slots_[place].key != empty) place = (place + 1) & (slots_.size() - 1);
        return place;
    }

    std::vector<Slot> slots_;
};

}  // namespace plimsoll
