// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/tokenizer.h"

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

constexpr std::size_t longest_cached_word = 64;
constexpr std::size_t most_cached_words = 200'000;

const Json& at(const Json& json, const char* key) {
    static const Json none;
    const auto found = json.find(key);
    return found == json.end() ? none : *found;
}

/// The error with the place from which it comes.
template <class T>
Result<T> named(Result<T> result, const std::string& where) {
    if (result) return result;
    return tl::unexpected(Error{where + ": " + result.error().message, result.error().kind});
}

/// GPT-2's pair of files, {"token": id} and lines of merges, as a tokenizer.json.
Json from_vocabulary_and_merges(const Json& vocabulary, std::string_view merges) {
    Json list = Json::array();
    for (std::size_t begin = 0; begin < merges.size();) {
        const std::size_t end = std::min(merges.find('\n', begin), merges.size());
        std::string line(merges.substr(begin, end - begin));
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty() && !line.starts_with("#version")) list.push_back(std::move(line));
        begin = end + 1;
    }
    Json json = Json::object();
    json["model"] = {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", std::move(list)}};
    json["pre_tokenizer"] = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
    json["decoder"] = {{"type", "ByteLevel"}};
    constexpr const char* end_of_text = "<|endoftext|>";
    if (const auto found = vocabulary.find(end_of_text); vocabulary.is_object() && found != vocabulary.end()) {
        json["added_tokens"] = Json::array({{{"id", *found}, {"content", end_of_text}, {"special", true}}});
    }
    return json;
}

}  // namespace

const std::vector<TokenId>* WordCache::find(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? nullptr : &found->second;
}

void WordCache::add(std::string_view word, std::span<const TokenId> ids) {
    if (word.size() > longest_cached_word) return;
    // Text of another kind begins: the words of the old one make room.
    if (words_.size() >= most_cached_words) words_.clear();
    words_.emplace(std::string(word), std::vector<TokenId>(ids.begin(), ids.end()));
}

Result<Tokenizer> Tokenizer::from_json(const Json& json) {
    if (!json.is_object()) return bad_input("it holds no object");
    Tokenizer out;
    PLIMSOLL_TRY(out.normalizer_, named(normalizer_from(at(json, "normalizer")), "normalizer"));
    PLIMSOLL_TRY(out.pre_tokenizer_, named(pre_tokenizer_from(at(json, "pre_tokenizer")), "pre_tokenizer"));
    PLIMSOLL_TRY(out.model_, named(tokenizer_model_from(at(json, "model")), "model"));
    PLIMSOLL_TRY(out.post_processor_, named(post_processor_from(at(json, "post_processor")), "post_processor"));
    PLIMSOLL_TRY(out.decoder_, named(decoder_from(at(json, "decoder")), "decoder"));
    PLIMSOLL_TRY(const auto added, named(added_tokens_from(json), "added_tokens"));

    std::vector<AddedToken> raw, normalized;
    std::vector<std::string> raw_texts, normalized_texts;
    const auto keep = [&out](const std::string& token, TokenId id) {
        const auto place = static_cast<std::size_t>(id);
        if (place >= out.tokens_.size()) out.tokens_.resize(place + 1);
        out.tokens_[place] = token;
    };
    for (const auto& [token, id] : out.model_->vocabulary()) keep(token, id);
    for (const AddedToken& token : added) {
        keep(token.content, token.id);
        out.added_[token.content] = token.id;
        std::string text = token.content;
        if (token.normalized && out.normalizer_) PLIMSOLL_CHECK(out.normalizer_->apply(text));
        (token.normalized ? normalized : raw).push_back(token);
        (token.normalized ? normalized_texts : raw_texts).push_back(std::move(text));
    }
    out.special_.resize(out.tokens_.size());
    for (const AddedToken& token : added) out.special_[static_cast<std::size_t>(token.id)] = token.special;
    out.raw_finder_.emplace(std::move(raw), std::move(raw_texts));
    out.normalized_finder_.emplace(std::move(normalized), std::move(normalized_texts));
    for (const auto& side : {out.post_processor_.before, out.post_processor_.behind}) {
        for (const TokenId id : side) {
            if (static_cast<std::size_t>(id) >= out.tokens_.size()) {
                return bad_input("post_processor: no token has the id {}", id);
            }
        }
    }
    return out;
}

Result<Json> Tokenizer::read(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) return read_json(path);
    if (fs::exists(path / "tokenizer.json", ignored)) return read_json(path / "tokenizer.json");
    if (!fs::exists(path / "vocab.json", ignored) || !fs::exists(path / "merges.txt", ignored)) {
        return bad_input("the folder {} holds neither tokenizer.json nor vocab.json with merges.txt", path.string());
    }
    PLIMSOLL_TRY(const Json vocabulary, read_json(path / "vocab.json"));
    PLIMSOLL_TRY(const std::string merges, read_file(path / "merges.txt"));
    return from_vocabulary_and_merges(vocabulary, merges);
}

Result<Tokenizer> Tokenizer::load(const std::filesystem::path& path) {
    PLIMSOLL_TRY(const Json json, read(path));
    return named(from_json(json), path.string());
}

Result<void> Tokenizer::encode_words(std::string_view text, bool first, WordCache& cache,
                                     std::vector<TokenId>& ids) const {
    Pieces pieces;
    pieces.list.push_back({text, first});
    if (pre_tokenizer_) PLIMSOLL_CHECK(pre_tokenizer_->split(pieces));
    const bool bytes = pre_tokenizer_ && pre_tokenizer_->leaves_bytes();
    for (const Piece& piece : pieces.list) {
        if (const auto* held = cache.find(piece.text)) {
            ids.insert(ids.end(), held->begin(), held->end());
            continue;
        }
        const std::size_t before = ids.size();
        model_->encode(piece.text, bytes, ids);
        cache.add(piece.text, std::span(ids).subspan(before));
    }
    return {};
}

Result<void> Tokenizer::encode(std::string_view text, bool add_special, WordCache& cache,
                               std::vector<TokenId>& ids) const {
    std::string made;
    if (!valid_utf8(text)) text = made = valid_text(text);
    if (add_special) ids.insert(ids.end(), post_processor_.before.begin(), post_processor_.before.end());
    std::string normalized;
    for (const TokenOrText& part : raw_finder_->divide(text)) {
        if (part.id) {
            ids.push_back(*part.id);
            continue;
        }
        std::string_view piece = text.substr(part.begin, part.end - part.begin);
        if (normalizer_) {
            normalized = piece;
            PLIMSOLL_CHECK(normalizer_->apply(normalized));
            piece = normalized;
        }
        for (const TokenOrText& inner : normalized_finder_->divide(piece)) {
            if (inner.id) {
                ids.push_back(*inner.id);
            } else {
                const bool first = part.begin == 0 && inner.begin == 0;
                PLIMSOLL_CHECK(encode_words(piece.substr(inner.begin, inner.end - inner.begin), first, cache, ids));
            }
        }
    }
    if (add_special) ids.insert(ids.end(), post_processor_.behind.begin(), post_processor_.behind.end());
    return {};
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
    std::vector<std::string> tokens;
    for (const TokenId id : ids) {
        const auto place = static_cast<std::size_t>(id);
        if (id < 0 || place >= tokens_.size() || tokens_[place].empty() || (skip_special && special_[place])) continue;
        tokens.push_back(tokens_[place]);
    }
    if (decoder_) {
        PLIMSOLL_TRY(tokens, decoder_->apply(std::move(tokens)));
    }
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (!decoder_ && i > 0) text += ' ';
        text += tokens[i];
    }
    return text;
}

std::optional<TokenId> Tokenizer::id_of(std::string_view token) const {
    if (const auto found = added_.find(token); found != added_.end()) return found->second;
    const auto found = model_->vocabulary().find(token);
    return found == model_->vocabulary().end() ? std::nullopt : std::optional(found->second);
}

const std::string& Tokenizer::token_of(TokenId id) const {
    static const std::string none;
    return id >= 0 && static_cast<std::size_t>(id) < tokens_.size() ? tokens_[static_cast<std::size_t>(id)] : none;
}

}  // namespace plimsoll
