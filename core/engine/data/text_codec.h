// SPDX-License-Identifier: Apache-2.0
// Between the tokens that a model trains on and text for a person.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/data/corpus.h"
#include "core/tokenizer/tokenizer.h"

namespace plimsoll::engine {

class TextCodec {
public:
    /// Each byte is a token. A byte that a vocabulary below 256 lacks is its last token.
    static TextCodec bytes(std::int64_t vocab_size);
    /// Of what the corpus holds: bytes, or tokens of the tokenizer that lies beside them. Without one, tokens are shown as
    /// numbers. An error where the tokenizer is there and cannot be read.
    static Result<TextCodec> of(const Corpus& corpus, std::int64_t vocab_size);

    /// Never empty: an empty text is begun by a line break.
    std::vector<std::int64_t> encode(const std::string& text) const;
    /// The prompt with the tokens that follow it; what is no UTF-8 comes out as U+FFFD.
    std::string continued(const std::string& prompt, std::span<const std::int64_t> tokens) const;
    /// Tokens that have a text are below it.
    std::int64_t tokens() const { return tokens_; }

private:
    std::shared_ptr<const Tokenizer> tokenizer_;
    std::int64_t tokens_ = 256;
    std::int64_t last_byte_ = 255;
    bool numbers_ = false;
};

}  // namespace plimsoll::engine
