// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/added_tokens.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

char32_t character_before(std::string_view text, std::size_t end, std::size_t* begin) {
    std::size_t at = end - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    *begin = at;
    return character_at(text, at).code;
}

bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t ignored = 0;
    return (begin == 0 || !is_word(character_before(text, begin, &ignored))) &&
           (end == text.size() || !is_word(character_at(text, end).code));
}

std::size_t before_blanks(std::string_view text, std::size_t begin) {
    std::size_t at = begin, next = 0;
    while (at > 0 && is_space(character_before(text, at, &next))) at = next;
    return at;
}

std::size_t behind_blanks(std::string_view text, std::size_t end) {
    while (end < text.size()) {
        const Character c = character_at(text, end);
        if (!is_space(c.code)) break;
        end += c.bytes;
    }
    return end;
}

}  // namespace

Result<std::vector<AddedToken>> added_tokens_from(const Json& tokenizer) {
    std::vector<AddedToken> tokens;
    for (const Json& json : list_at(tokenizer, "added_tokens")) {
        AddedToken token;
        token.content = text_at(json, "content");
        const auto id = json.is_object() ? json.find("id") : json.end();
        if (token.content.empty() || id == json.end() || !id->is_number_integer() || id->get<std::int64_t>() < 0 ||
            id->get<std::int64_t>() > 4'000'000) {
            return bad_input("the added token {} needs content and an id", shown(json));
        }
        token.id = static_cast<TokenId>(id->get<std::int64_t>());
        token.special = flag_at(json, "special", false);
        token.normalized = flag_at(json, "normalized", !token.special);
        token.single_word = flag_at(json, "single_word", false);
        token.lstrip = flag_at(json, "lstrip", false);
        token.rstrip = flag_at(json, "rstrip", false);
        tokens.push_back(std::move(token));
    }
    return tokens;
}

TokenFinder::TokenFinder(std::vector<AddedToken> tokens, std::vector<std::string> texts)
    : tokens_(std::move(tokens)), texts_(std::move(texts)) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        if (!texts_[i].empty()) by_first_byte_[static_cast<unsigned char>(texts_[i][0])].push_back(i);
    }
    for (auto& places : by_first_byte_) {
        std::ranges::stable_sort(places, [this](auto a, auto b) { return texts_[a].size() > texts_[b].size(); });
    }
}

std::vector<TokenOrText> TokenFinder::divide(std::string_view text) const {
    std::vector<TokenOrText> parts;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const auto& places = by_first_byte_[static_cast<unsigned char>(text[at])];
        const auto found = std::ranges::find_if(places, [&](auto i) { return text.substr(at).starts_with(texts_[i]); });
        if (found == places.end()) {
            ++at;
            continue;
        }
        const AddedToken& token = tokens_[*found];
        std::size_t begin = at, end = at + texts_[*found].size();
        at = end;
        if (token.single_word && !stands_alone(text, begin, end)) continue;
        if (token.lstrip) begin = std::max(before_blanks(text, begin), done);
        if (token.rstrip) end = behind_blanks(text, end);
        begin = std::max(begin, done);
        if (begin > done) parts.push_back({std::nullopt, done, begin});
        parts.push_back({token.id, begin, end});
        done = std::max(done, end);
    }
    if (done < text.size()) parts.push_back({std::nullopt, done, text.size()});
    return parts;
}

}  // namespace plimsoll
