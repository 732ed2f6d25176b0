// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <queue>

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/pair_ranks.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/tokenizer_model.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

struct BpeOptions {
    std::string prefix, suffix, unknown;
    bool byte_fallback = false, fuse_unknown = false, ignore_merges = false;
};

class Bpe final : public TokenizerModel {
public:
    Bpe(Vocabulary vocabulary, PairRanks ranks, BpeOptions options)
        : vocabulary_(std::move(vocabulary)), ranks_(std::move(ranks)), options_(std::move(options)) {
        unknown_ = id_of(options_.unknown);
        if (options_.byte_fallback) byte_tokens_ = byte_tokens_of(vocabulary_);
        for (std::size_t byte = 0; byte < byte_symbols_.size(); ++byte) {
            std::string text;
            append_utf8(text, character_of_byte(static_cast<unsigned char>(byte)));
            byte_symbols_[byte] = id_of(text);
        }
    }

    void encode(std::string_view word, bool bytes, std::vector<TokenId>& out) const override {
        if (options_.ignore_merges) {
            const TokenId whole = bytes ? id_of(byte_characters(word)) : id_of(word);
            if (whole >= 0) return out.push_back(whole);
        }
        const std::size_t begin = out.size();
        bytes&& options_.prefix.empty() && options_.suffix.empty()
            ? add_bytes(word, out)
            : add_characters(bytes ? byte_characters(word) : word, out);
        merge(out, begin);
    }
    const Vocabulary& vocabulary() const override { return vocabulary_; }

private:
    TokenId id_of(std::string_view text) const {
        const auto found = vocabulary_.find(text);
        return found == vocabulary_.end() ? -1 : found->second;
    }

    void add_bytes(std::string_view word, std::vector<TokenId>& out) const {
        bool unknown = false;
        for (const char c : word) {
            const TokenId id = byte_symbols_[static_cast<unsigned char>(c)];
            if (id >= 0) {
                out.push_back(id);
            } else if (unknown_ >= 0 && !(unknown && options_.fuse_unknown)) {
                out.push_back(unknown_);
            }
            unknown = id < 0;
        }
    }

    /// The characters' tokens. What is not known is told when the next known character comes, as the library does it.
    void add_characters(std::string_view word, std::vector<TokenId>& out) const {
        bool waiting = false;
        std::string piece;
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t length = character_at(word, at).bytes;
            const std::string_view character = word.substr(at, length);
            std::string_view text = character;
            if ((at > 0 && !options_.prefix.empty()) || (at + length == word.size() && !options_.suffix.empty())) {
                piece = at > 0 ? options_.prefix : std::string();
                piece += character;
                if (at + length == word.size()) piece += options_.suffix;
                text = piece;
            }
            at += length;
            if (const TokenId id = id_of(text); id >= 0) {
                if (waiting) out.push_back(unknown_);
                waiting = false;
                out.push_back(id);
            } else if (!byte_tokens_.empty()) {
                for (const char byte : text) out.push_back(byte_tokens_[static_cast<unsigned char>(byte)]);
            } else if (unknown_ >= 0) {
                if (waiting && !options_.fuse_unknown) out.push_back(unknown_);
                waiting = true;
            }
        }
        if (waiting) out.push_back(unknown_);
    }

    void merge(std::vector<TokenId>& out, std::size_t begin) const {
        constexpr std::size_t short_word = 48;
        out.size() - begin <= short_word ? merge_short(out, begin) : merge_long(out, begin);
    }

    /// By looking through all pairs after each merge.
    void merge_short(std::vector<TokenId>& out, std::size_t begin) const {
        std::array<PairRanks::Merge, 48> pairs;  // of each symbol with the next
        std::size_t n = out.size() - begin;
        TokenId* symbols = out.data() + begin;
        for (std::size_t i = 0; i + 1 < n; ++i) pairs[i] = ranks_.of(symbols[i], symbols[i + 1]);
        while (n > 1) {
            const auto best = std::min_element(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(n - 1),
                                               [](const auto& a, const auto& b) { return a.rank < b.rank; });
            if (best->rank == PairRanks::none) break;
            const auto i = static_cast<std::size_t>(best - pairs.begin());
            symbols[i] = best->made;
            std::copy(symbols + i + 2, symbols + n, symbols + i + 1);
            if (i + 2 < n) std::copy(pairs.begin() + i + 2, pairs.begin() + (n - 1), pairs.begin() + i + 1);
            --n;
            if (i + 1 < n) pairs[i] = ranks_.of(symbols[i], symbols[i + 1]);
            if (i > 0) pairs[i - 1] = ranks_.of(symbols[i - 1], symbols[i]);
        }
        out.resize(begin + n);
    }

    /// By a queue of pairs, so that a text without words takes n log n steps.
    void merge_long(std::vector<TokenId>& out, std::size_t begin) const {
        struct Symbol {
            TokenId id;
            std::int64_t before, next;
        };
        struct Candidate {
            std::uint32_t rank;
            std::int64_t at;
            TokenId made;
            bool operator<(const Candidate& other) const {
                return rank != other.rank ? rank > other.rank : at > other.at;
            }
        };
        const auto n = static_cast<std::int64_t>(out.size() - begin);
        std::vector<Symbol> symbols;
        symbols.reserve(static_cast<std::size_t>(n));
        for (std::int64_t i = 0; i < n; ++i) {
            symbols.push_back({out[begin + static_cast<std::size_t>(i)], i - 1, i + 1 < n ? i + 1 : -1});
        }
        const auto at = [&](std::int64_t i) -> Symbol& { return symbols[static_cast<std::size_t>(i)]; };
        std::vector<Candidate> first;
        const auto pair_at = [&](std::int64_t i) {
            return i < 0 || at(i).next < 0 ? PairRanks::Merge{} : ranks_.of(at(i).id, at(at(i).next).id);
        };
        for (std::int64_t i = 0; i < n; ++i) {
            if (const auto pair = pair_at(i); pair.rank != PairRanks::none) first.push_back({pair.rank, i, pair.made});
        }
        std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(first));
        const auto add = [&](std::int64_t i) {
            if (const auto pair = pair_at(i); pair.rank != PairRanks::none) queue.push({pair.rank, i, pair.made});
        };
        while (!queue.empty()) {
            const Candidate top = queue.top();
            queue.pop();
            // A pair of which one symbol has changed since is not there any more.
            if (at(top.at).id < 0) continue;
            if (const auto now = pair_at(top.at); now.rank != top.rank || now.made != top.made) continue;
            Symbol& left = at(top.at);
            Symbol& right = at(left.next);
            left.id = top.made;
            right.id = -1;
            left.next = right.next;
            if (left.next >= 0) at(left.next).before = top.at;
            add(left.before);
            add(top.at);
        }
        out.resize(begin);
        for (std::int64_t i = 0; i >= 0; i = at(i).next) out.push_back(at(i).id);
    }

    Vocabulary vocabulary_;
    PairRanks ranks_;
    BpeOptions options_;
    TokenId unknown_ = -1;
    std::vector<TokenId> byte_tokens_;
    std::array<TokenId, 256> byte_symbols_{};
};

/// ["a b", …] or [["a", "b"], …].
Result<std::pair<std::string, std::string>> pair_of(const Json& merge) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
        return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
    }
    if (merge.is_string()) {
        const auto text = merge.get<std::string>();
        const auto space = text.find(' ');
        if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
            return std::pair(text.substr(0, space), text.substr(space + 1));
        }
    }
    return bad_input("the merge {} is not two tokens", shown(merge));
}

Result<PairRanks> ranks_from(const Json& model, const Vocabulary& vocabulary, const std::string& prefix) {
    const Json& merges = list_at(model, "merges");
    PairRanks ranks(merges.size());
    std::uint32_t rank = 0;
    for (const Json& merge : merges) {
        if (merge.is_string() && merge.get_ref<const std::string&>().starts_with("#version")) continue;
        PLIMSOLL_TRY(const auto pair, pair_of(merge));
        // The second one's mark of a piece that goes on is not repeated within the new token.
        const std::string made =
            pair.first + (pair.second.starts_with(prefix) ? pair.second.substr(prefix.size()) : pair.second);
        const auto left = vocabulary.find(pair.first), right = vocabulary.find(pair.second),
                   whole = vocabulary.find(made);
        for (const auto& [found, token] :
             {std::pair(left, pair.first), std::pair(right, pair.second), std::pair(whole, made)}) {
            if (found == vocabulary.end()) {
                return bad_input("the merge {} needs the token {}, which the vocabulary does not have", shown(merge),
                                 shown(Json(token)));
            }
        }
        ranks.add(left->second, right->second, rank++, whole->second);
    }
    return ranks;
}

}  // namespace

Result<std::unique_ptr<TokenizerModel>> bpe_from(const Json& json) {
    PLIMSOLL_TRY(auto vocabulary, vocabulary_from(json));
    BpeOptions options;
    options.prefix = text_at(json, "continuing_subword_prefix");
    options.suffix = text_at(json, "end_of_word_suffix");
    options.unknown = text_at(json, "unk_token");
    options.byte_fallback = flag_at(json, "byte_fallback", false);
    options.fuse_unknown = flag_at(json, "fuse_unk", false);
    options.ignore_merges = flag_at(json, "ignore_merges", false);
    PLIMSOLL_TRY(auto ranks, ranks_from(json, vocabulary, options.prefix));
    return std::make_unique<Bpe>(std::move(vocabulary), std::move(ranks), std::move(options));
}

}  // namespace plimsoll
