// SPDX-License-Identifier: Apache-2.0
#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/tokenizer_model.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

class WordPiece final : public TokenizerModel {
public:
    WordPiece(Vocabulary vocabulary, TokenId unknown, std::string prefix, std::int64_t most_characters)
        : vocabulary_(std::move(vocabulary)),
          unknown_(unknown),
          prefix_(std::move(prefix)),
          most_characters_(most_characters) {
        for (const auto& [token, id] : vocabulary_) longest_ = std::max(longest_, token.size());
    }

    void encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override {
        const std::string made = bytes ? byte_characters(word) : std::string();
        if (bytes) word = made;
        const std::size_t before = out.size();
        if (characters_in(word) > most_characters_ || !divide(word, out)) {
            out.resize(before);
            out.push_back(unknown_);
        }
    }
    const Vocabulary& vocabulary() const override { return vocabulary_; }

private:
    static std::int64_t characters_in(std::string_view word) {
        std::int64_t count = 0;
        for (const char c : word) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
        return count;
    }

    bool divide(std::string_view word, std::vector<TokenId>& out) const {
        std::string piece;
        for (std::size_t begin = 0; begin < word.size();) {
            std::size_t end = std::min(word.size(), begin + longest_);
            bool found = false;
            for (; end > begin; --end) {
                if (end < word.size() && (static_cast<unsigned char>(word[end]) & 0xC0) == 0x80) continue;
                piece = begin > 0 ? prefix_ : std::string();
                piece += word.substr(begin, end - begin);
                const auto token = vocabulary_.find(piece);
                if (token == vocabulary_.end()) continue;
                out.push_back(token->second);
                found = true;
                break;
            }
            if (!found) return false;
            begin = end;
        }
        return true;
    }

    Vocabulary vocabulary_;
    TokenId unknown_;
    std::string prefix_;
    std::int64_t most_characters_;
    std::size_t longest_ = 0;
};

}  // namespace

Result<std::unique_ptr<TokenizerModel>> word_piece_from(const Json& json) {
    PLIMSOLL_TRY(auto vocabulary, vocabulary_from(json));
    const std::string unknown = text_at(json, "unk_token", "[UNK]");
    const auto id = vocabulary.find(unknown);
    if (id == vocabulary.end()) return bad_input("the vocabulary lacks unk_token, {}", shown(Json(unknown)));
    const auto most = json.find("max_input_chars_per_word");
    const std::int64_t characters = most != json.end() && most->is_number_integer() ? most->get<std::int64_t>() : 100;
    const TokenId unknown_id = id->second;
    return std::make_unique<WordPiece>(std::move(vocabulary), unknown_id,
                                       text_at(json, "continuing_subword_prefix", "##"), characters);
}

}  // namespace plimsoll
