// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/tokenizer_model.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

/// What a token that is not known costs beyond the rarest one.
constexpr double unknown_penalty = 10;

/// The tokens by their bytes, so that all that begin at a place are found in one walk.
class Trie {
public:
    void add(std::string_view token, TokenId id) {
        std::uint32_t node = 0;
        for (const char c : token) {
            const auto [child, fresh] = children_.try_emplace(key_of(node, c), static_cast<std::uint32_t>(ids_.size()));
            if (fresh) ids_.push_back(-1);
            node = child->second;
        }
        ids_[node] = id;
    }
    /// found(length, id) for each token that `text` begins with, shortest first.
    template <class Found>
    void each_beginning(std::string_view text, Found&& found) const {
        std::uint32_t node = 0;
        for (std::size_t i = 0; i < text.size(); ++i) {
            const auto child = children_.find(key_of(node, text[i]));
            if (child == children_.end()) return;
            node = child->second;
            if (ids_[node] >= 0) found(i + 1, ids_[node]);
        }
    }

private:
    static std::uint64_t key_of(std::uint32_t node, char c) {
        return (static_cast<std::uint64_t>(node) << 8) | static_cast<unsigned char>(c);
    }
    std::unordered_map<std::uint64_t, std::uint32_t> children_;
    std::vector<TokenId> ids_{-1};
};

class Unigram final : public TokenizerModel {
public:
    Unigram(Vocabulary vocabulary, std::vector<double> scores, TokenId unknown, bool byte_fallback)
        : vocabulary_(std::move(vocabulary)), scores_(std::move(scores)), unknown_(unknown) {
        for (const auto& [token, id] : vocabulary_) trie_.add(token, id);
        least_ = scores_.empty() ? 0 : *std::ranges::min_element(scores_);
        if (byte_fallback) byte_tokens_ = byte_tokens_of(vocabulary_);
    }

    void encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override {
        const std::string made = bytes ? byte_characters(word) : std::string();
        if (bytes) word = made;
        const std::vector<Node> best = best_paths(word);
        std::vector<std::pair<std::size_t, std::size_t>> parts;  // of the likeliest division, last one first
        bool unknown_before = false;
        for (std::size_t end = word.size(); end > 0; end = best[end].begin) {
            const bool unknown = best[end].id == unknown_;
            if (unknown && unknown_before) {
                parts.back().first = best[end].begin;  // what is not known is one token
            } else {
                parts.emplace_back(best[end].begin, end);
            }
            unknown_before = unknown;
        }
        for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
            add(word.substr(part->first, part->second - part->first), out);
        }
    }
    const Vocabulary& vocabulary() const override { return vocabulary_; }

private:
    struct Node {
        TokenId id = -1;
        double score = 0;
        std::size_t begin = 0;
        bool reached = false;
    };

    std::vector<Node> best_paths(std::string_view word) const {
        std::vector<Node> best(word.size() + 1);
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t length = character_at(word, at).bytes;
            const double so_far = best[at].score;
            bool single = false;
            const auto offer = [&](std::size_t bytes, TokenId id, double score) {
                Node& node = best[at + bytes];
                if (!node.reached || score > node.score) node = {id, score, at, true};
            };
            trie_.each_beginning(word.substr(at), [&](std::size_t bytes, TokenId id) {
                offer(bytes, id, scores_[static_cast<std::size_t>(id)] + so_far);
                single = single || bytes == length;
            });
            if (!single) offer(length, unknown_, least_ - unknown_penalty + so_far);
            at += length;
        }
        return best;
    }

    void add(std::string_view part, std::vector<TokenId>& out) const {
        if (const auto found = vocabulary_.find(part); found != vocabulary_.end()) return out.push_back(found->second);
        if (byte_tokens_.empty()) return out.push_back(unknown_);
        for (const char byte : part) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
    }

    Vocabulary vocabulary_;
    std::vector<double> scores_;
    TokenId unknown_;
    Trie trie_;
    double least_ = 0;
    std::vector<TokenId> byte_tokens_;
};

}  // namespace

Result<std::unique_ptr<TokenizerModel>> unigram_from(const Json& json) {
    const Json& pieces = list_at(json, "vocab");
    if (pieces.empty()) return bad_input("the model has no vocabulary (vocab: [[\"token\", score], …])");
    Vocabulary vocabulary;
    std::vector<double> scores;
    for (const Json& piece : pieces) {
        if (!piece.is_array() || piece.size() != 2 || !piece[0].is_string() || !piece[1].is_number()) {
            return bad_input("the piece {} is not a token and its score", shown(piece));
        }
        vocabulary.insert_or_assign(piece[0].get<std::string>(), static_cast<TokenId>(scores.size()));
        scores.push_back(piece[1].get<double>());
    }
    const auto unknown = json.find("unk_id");
    if (unknown == json.end() || !unknown->is_number_integer() || unknown->get<std::int64_t>() < 0 ||
        unknown->get<std::int64_t>() >= static_cast<std::int64_t>(scores.size())) {
        return bad_input("unk_id is not the place of a token, so characters that no token has cannot be encoded");
    }
    const auto unknown_id = static_cast<TokenId>(unknown->get<std::int64_t>());
    return std::make_unique<Unigram>(std::move(vocabulary), std::move(scores), unknown_id,
                                     flag_at(json, "byte_fallback", false));
}

}  // namespace plimsoll
