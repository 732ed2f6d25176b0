// SPDX-License-Identifier: Apache-2.0
#include "core/base/xxh64.h"

#include <array>
#include <bit>

namespace plimsoll {

namespace {

// The primes of the specification.
constexpr std::uint64_t prime1 = 0x9E3779B185EBCA87U;
constexpr std::uint64_t prime2 = 0xC2B2AE3D27D4EB4FU;
constexpr std::uint64_t prime3 = 0x165667B19E3779F9U;
constexpr std::uint64_t prime4 = 0x85EBCA77C2B2AE63U;
constexpr std::uint64_t prime5 = 0x27D4EB2F165667C5U;
constexpr std::size_t stripe = 32;

/// Little-endian, off the front.
template <std::size_t size>
std::uint64_t take(std::string_view& bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
        value |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    }
    bytes.remove_prefix(size);
    return value;
}

std::uint64_t round(std::uint64_t lane, std::uint64_t input) { return std::rotl(lane + input * prime2, 31) * prime1; }

std::uint64_t of_stripes(std::string_view& bytes, std::uint64_t seed) {
    std::array<std::uint64_t, 4> lanes{seed + prime1 + prime2, seed + prime2, seed, seed - prime1};
    while (bytes.size() >= stripe) {
        for (std::uint64_t& lane : lanes) lane = round(lane, take<8>(bytes));
    }
    std::uint64_t hash =
        std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * prime1 + prime4;
    return hash;
}

}  // namespace

std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed) {
    const std::size_t size = bytes.size();
    std::uint64_t hash = (size >= stripe ? of_stripes(bytes, seed) : seed + prime5) + size;
    while (bytes.size() >= 8) hash = std::rotl(hash ^ round(0, take<8>(bytes)), 27) * prime1 + prime4;
    if (bytes.size() >= 4) hash = std::rotl(hash ^ take<4>(bytes) * prime1, 23) * prime2 + prime3;
    while (!bytes.empty()) hash = std::rotl(hash ^ take<1>(bytes) * prime5, 11) * prime1;
    hash = (hash ^ hash >> 33) * prime2;
    hash = (hash ^ hash >> 29) * prime3;
    return hash ^ hash >> 32;
}

}  // namespace plimsoll
