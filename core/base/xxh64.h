// SPDX-License-Identifier: Apache-2.0
// A fast hash of bytes, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

/// XXH64 (xxHash's specification, github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). Not for secrets: whoever
/// wants to can make two texts of the same hash.
std::uint64_t xxh64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace plimsoll
