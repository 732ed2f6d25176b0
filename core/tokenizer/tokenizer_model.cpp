// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/tokenizer_model.h"

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/step_json.h"

namespace plimsoll {

namespace {

constexpr std::int64_t most_tokens = 4'000'000;

/// A word is a token or is not known.
class WordLevel final : public TokenizerModel {
public:
    WordLevel(Vocabulary vocabulary, const std::string& unknown) : vocabulary_(std::move(vocabulary)) {
        if (const auto found = vocabulary_.find(unknown); found != vocabulary_.end()) unknown_ = found->second;
    }
    void encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override {
        const auto found = bytes ? vocabulary_.find(byte_characters(word)) : vocabulary_.find(word);
        if (found != vocabulary_.end()) {
            out.push_back(found->second);
        } else if (unknown_ >= 0) {
            out.push_back(unknown_);
        }
    }
    const Vocabulary& vocabulary() const override { return vocabulary_; }

private:
    Vocabulary vocabulary_;
    TokenId unknown_ = -1;
};

std::string kind_of(const Json& model) {
    if (const std::string type = type_of(model); !type.empty()) return type;
    // Files of old releases do not say it.
    if (model.contains("merges")) return "BPE";
    if (model.contains("unk_id")) return "Unigram";
    return model.contains("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

}  // namespace

Result<Vocabulary> vocabulary_from(const Json& model) {
    const auto found = model.find("vocab");
    if (found == model.end() || !found->is_object() || found->empty()) {
        return bad_input("the model has no vocabulary (vocab: {{\"token\": id, …}})");
    }
    Vocabulary vocabulary;
    vocabulary.reserve(found->size());
    for (const auto& [token, id] : found->items()) {
        if (!id.is_number_integer() || id.get<std::int64_t>() < 0 || id.get<std::int64_t>() > most_tokens) {
            return bad_input("the token {} has the id {}; a whole number from 0 is needed", shown(Json(token)),
                             shown(id));
        }
        vocabulary.emplace(token, static_cast<TokenId>(id.get<std::int64_t>()));
    }
    return vocabulary;
}

std::vector<TokenId> byte_tokens_of(const Vocabulary& vocabulary) {
    std::vector<TokenId> ids;
    for (int byte = 0; byte < 256; ++byte) {
        const auto found = vocabulary.find(fmt::format("<0x{:02X}>", byte));
        if (found == vocabulary.end()) return {};
        ids.push_back(found->second);
    }
    return ids;
}

Result<std::unique_ptr<TokenizerModel>> tokenizer_model_from(const Json& json) {
    if (!json.is_object()) return bad_input("\"model\" is missing");
    const std::string kind = kind_of(json);
    if (kind == "BPE") return bpe_from(json);
    if (kind == "WordPiece") return word_piece_from(json);
    if (kind == "Unigram") return unigram_from(json);
    if (kind == "WordLevel") {
        PLIMSOLL_TRY(auto vocabulary, vocabulary_from(json));
        return std::make_unique<WordLevel>(std::move(vocabulary), text_at(json, "unk_token"));
    }
    return bad_input("the model {} is not known (known: BPE, WordPiece, Unigram, WordLevel)", kind);
}

}  // namespace plimsoll
