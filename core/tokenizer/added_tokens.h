// SPDX-License-Identifier: Apache-2.0
// Tokens that are found in the text before it is divided: "<s>", "<|im_start|>".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/tokenizer/normalizers.h"
#include "core/tokenizer/tokenizer_model.h"

namespace plimsoll {

struct AddedToken {
    TokenId id = 0;
    std::string content;
    bool special = false;                 ///< left out of decoded text where that is asked for
    bool normalized = false;              ///< looked for in the normalized text
    bool single_word = false;             ///< only where no word goes on before or behind it
    bool lstrip = false, rstrip = false;  ///< takes the blanks before or behind it along
};

/// From "added_tokens" of tokenizer.json.
Result<std::vector<AddedToken>> added_tokens_from(const Json& tokenizer);

/// A part of a text: a token, or text in which there is none.
struct TokenOrText {
    std::optional<TokenId> id;
    std::size_t begin = 0, end = 0;
};

/// Finds tokens, the longest where several begin at a place.
class TokenFinder {
public:
    /// `texts[i]`: what is looked for in place of tokens[i].content.
    TokenFinder(std::vector<AddedToken> tokens, std::vector<std::string> texts);
    /// All of the text, in order.
    std::vector<TokenOrText> divide(std::string_view text) const;

private:
    std::vector<AddedToken> tokens_;
    std::vector<std::string> texts_;
    std::array<std::vector<std::size_t>, 256> by_first_byte_;  ///< places in tokens_, longest first
};

}  // namespace plimsoll
