// SPDX-License-Identifier: Apache-2.0
// What a vocabulary does with one word.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

using TokenId = std::int32_t;

/// Looks texts up without making strings of them.
struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Vocabulary = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

class TokenizerModel {
public:
    virtual ~TokenizerModel() = default;
    /// Appends the word's tokens. `bytes`: the word is bytes, each of which stands for its character of byte_level.h.
    virtual void encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const = 0;
    virtual const Vocabulary& vocabulary() const = 0;
};

/// From the value of "model" in tokenizer.json: BPE, WordPiece, Unigram, WordLevel.
Result<std::unique_ptr<TokenizerModel>> tokenizer_model_from(const Json& json);

/// Byte-pair encoding (Sennrich 2016), as the `tokenizers` library does it: merges by rank, leftmost first.
Result<std::unique_ptr<TokenizerModel>> bpe_from(const Json& json);
/// The longest piece first (Schuster 2012; BERT's).
Result<std::unique_ptr<TokenizerModel>> word_piece_from(const Json& json);
/// The likeliest division (Kudo 2018, SentencePiece's).
Result<std::unique_ptr<TokenizerModel>> unigram_from(const Json& json);

/// {"token": id, …}: ids from 0 to 4 million. Errors name the token.
Result<Vocabulary> vocabulary_from(const Json& model);
/// The ids of "<0x00>" to "<0xFF>" by byte, or empty where one of them is missing.
std::vector<TokenId> byte_tokens_of(const Vocabulary& vocabulary);

}  // namespace plimsoll
