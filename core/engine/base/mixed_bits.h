// SPDX-License-Identifier: Apache-2.0
// The finalizer of SplitMix64, from which the seeds of random streams are made.
#pragma once

#include <cstdint>

namespace plimsoll::engine {

/// Every bit of the input changes half the bits of the output (Steele, Lea & Flood 2014).
constexpr std::uint64_t mixed_bits(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

}  // namespace plimsoll::engine
