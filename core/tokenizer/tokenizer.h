// SPDX-License-Identifier: Apache-2.0
// Text to tokens and back, with the ids of the `tokenizers` library.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/tokenizer/added_tokens.h"
#include "core/tokenizer/decoders.h"
#include "core/tokenizer/normalizers.h"
#include "core/tokenizer/post_processor.h"
#include "core/tokenizer/pre_tokenizers.h"
#include "core/tokenizer/tokenizer_model.h"

namespace plimsoll {

/// Words that were encoded lately, with their tokens. Each thread has its own.
class WordCache {
public:
    /// Null where the word is not held.
    const std::vector<TokenId>* find(std::string_view word) const;
    void add(std::string_view word, std::span<const TokenId> ids);

private:
    std::unordered_map<std::string, std::vector<TokenId>, TextHash, std::equal_to<>> words_;
};

/// Does not change once it is made: threads share it.
class Tokenizer {
public:
    /// As load(), but what the file says: GPT-2's pair in the form of a tokenizer.json.
    static Result<Json> read(const std::filesystem::path& path);
    /// A tokenizer.json, a folder that holds one, or a folder with GPT-2's vocab.json and merges.txt. Errors name the file
    /// and what in it is not understood. Truncation and padding that the file asks for are not applied.
    static Result<Tokenizer> load(const std::filesystem::path& path);
    /// The contents of a tokenizer.json.
    static Result<Tokenizer> from_json(const Json& json);
    /// Appends the text's tokens. Bytes that are not UTF-8 count as U+FFFD. `add_special`: with the tokens that the
    /// post-processor puts around a text. An error where an expression of the file fails on the text.
    Result<void> encode(std::string_view text, bool add_special, WordCache& cache, std::vector<TokenId>& ids) const;
    /// Ids that no token has are left out; so are special tokens where `skip_special`.
    Result<std::string> decode(std::span<const TokenId> ids, bool skip_special) const;

    /// Ids are below it.
    std::int64_t vocab_size() const { return static_cast<std::int64_t>(tokens_.size()); }
    std::optional<TokenId> id_of(std::string_view token) const;
    /// The token's text as the vocabulary has it, empty where there is none.
    const std::string& token_of(TokenId id) const;

private:
    Result<void> encode_words(std::string_view text, bool first, WordCache& cache, std::vector<TokenId>& ids) const;

    std::unique_ptr<Normalizer> normalizer_;
    std::unique_ptr<PreTokenizer> pre_tokenizer_;
    std::unique_ptr<TokenizerModel> model_;
    std::unique_ptr<Decoder> decoder_;
    PostProcessor post_processor_;
    std::optional<TokenFinder> raw_finder_, normalized_finder_;
    std::vector<std::string> tokens_;  ///< by id
    std::vector<bool> special_;        ///< by id
    Vocabulary added_;
};

}  // namespace plimsoll
