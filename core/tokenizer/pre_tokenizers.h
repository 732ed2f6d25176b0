// SPDX-License-Identifier: Apache-2.0
// Steps that divide the text into words, which the vocabulary's model turns into tokens one by one.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

struct Piece {
    std::string_view text;
    bool first = false;  ///< the whole text begins here
};

/// The text in pieces, with the memory of those that a step has changed.
struct Pieces {
    std::vector<Piece> list;
    std::deque<std::string> made;
};

class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    /// Valid UTF-8 in and out; empty pieces fall away.
    virtual Result<void> split(Pieces& pieces) const = 0;
    /// Whether the pieces that it leaves are bytes that the model takes as characters (character_of_byte).
    virtual bool leaves_bytes() const { return false; }
};

/// From the value of "pre_tokenizer" in tokenizer.json: ByteLevel, Split, Sequence, Whitespace, WhitespaceSplit,
/// BertPreTokenizer, Metaspace, Digits, Punctuation, CharDelimiterSplit. Null where it is null.
Result<std::unique_ptr<PreTokenizer>> pre_tokenizer_from(const Json& json);

}  // namespace plimsoll
