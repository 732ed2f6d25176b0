// SPDX-License-Identifier: Apache-2.0
#include "core/engine/data/text_codec.h"

#include <algorithm>

#include "core/tokenizer/unicode.h"

namespace plimsoll::engine {

TextCodec TextCodec::bytes(std::int64_t vocab_size) {
    TextCodec codec;
    codec.last_byte_ = std::min<std::int64_t>(255, vocab_size - 1);
    return codec;
}

Result<TextCodec> TextCodec::of(const Corpus& corpus, std::int64_t vocab_size) {
    if (corpus.token_width == 1) return bytes(vocab_size);
    TextCodec codec;
    codec.tokens_ = corpus.vocab_size;
    codec.numbers_ = corpus.tokenizer.empty();
    if (codec.numbers_) return codec;
    PLIMSOLL_TRY(auto tokenizer, Tokenizer::load(corpus.tokenizer));
    codec.tokenizer_ = std::make_shared<const Tokenizer>(std::move(tokenizer));
    return codec;
}

std::vector<std::int64_t> TextCodec::encode(const std::string& text) const {
    const std::string start = text.empty() ? "\n" : text;
    std::vector<std::int64_t> out;
    if (tokenizer_) {
        WordCache cache;
        std::vector<TokenId> ids;
        // A text that an expression of the tokenizer fails on begins with the first token, as an empty one may.
        if (tokenizer_->encode(start, false, cache, ids)) out.assign(ids.begin(), ids.end());
    } else if (!numbers_) {
        for (const char c : start) out.push_back(std::min<std::int64_t>(static_cast<unsigned char>(c), last_byte_));
    }
    if (out.empty()) out.push_back(0);
    return out;
}

std::string TextCodec::continued(const std::string& prompt, std::span<const std::int64_t> tokens) const {
    if (tokenizer_) {
        // Together, since a tokenizer may put blanks between words.
        std::vector<TokenId> ids;
        if (!prompt.empty()) {
            for (const std::int64_t id : encode(prompt)) ids.push_back(static_cast<TokenId>(id));
        }
        for (const std::int64_t id : tokens) ids.push_back(static_cast<TokenId>(id));
        return valid_text(tokenizer_->decode(ids, true).value_or(prompt));
    }
    std::string out = numbers_ ? "" : prompt;
    for (const std::int64_t token : tokens) {
        if (numbers_) {
            if (!out.empty()) out += ' ';
            out += std::to_string(token);
        } else {
            out += static_cast<char>(static_cast<unsigned char>(token));
        }
    }
    return valid_text(out);
}

}  // namespace plimsoll::engine
