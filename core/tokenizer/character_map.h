// SPDX-License-Identifier: Apache-2.0
// SentencePiece's compiled table of replacements ("precompiled_charsmap").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

/// A double-array trie (darts-clone) from text to its replacement. Used as the `tokenizers` library does: a grapheme of
/// fewer than six bytes is looked up whole, then each of its characters.
class CharacterMap {
public:
    /// The table's bytes; errors where they cannot be such a table.
    static Result<CharacterMap> from_bytes(std::string_view bytes);
    std::string apply(std::string_view text) const;

private:
    /// The replacement of the shortest beginning of `text` that has one, or null.
    const char* replacement(std::string_view text) const;

    std::vector<std::uint32_t> units_;
    std::string replacements_;  ///< each ended by a zero
};

/// Error where it is not base64 (RFC 4648, with padding).
Result<std::string> from_base64(std::string_view text);

}  // namespace plimsoll
