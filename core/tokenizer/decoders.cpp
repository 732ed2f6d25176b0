// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/decoders.h"

#include <array>
#include <functional>

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/pattern.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

using Tokens = std::vector<std::string>;

class TokensChange final : public Decoder {
public:
    explicit TokensChange(std::function<Result<Tokens>(Tokens)> change) : change_(std::move(change)) {}
    Result<Tokens> apply(Tokens tokens) const override { return change_(std::move(tokens)); }

private:
    std::function<Result<Tokens>(Tokens)> change_;
};

std::unique_ptr<Decoder> tokens_change(std::function<Result<Tokens>(Tokens)> change) {
    return std::make_unique<TokensChange>(std::move(change));
}

Tokens byte_level(const Tokens& tokens) {
    std::string bytes;
    for (const std::string& token : tokens) {
        std::string part;
        bool all = true;
        for (std::size_t at = 0; at < token.size() && all;) {
            const Character c = character_at(token, at);
            const auto byte = byte_of_character(c.code);
            all = byte.has_value();
            if (byte) part.push_back(static_cast<char>(*byte));
            at += c.bytes;
        }
        bytes += all ? part : token;
    }
    return {valid_text(bytes)};
}

/// "<0xE2>" is a byte.
int byte_named(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token.back() != '>') return -1;
    int value = 0;
    for (const char c : token.substr(3, 2)) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                 : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

Tokens byte_fallback(const Tokens& tokens) {
    Tokens out;
    std::string bytes;
    const auto flush = [&] {
        if (bytes.empty()) return;
        if (valid_utf8(bytes)) {
            out.push_back(bytes);
        } else {
            for (std::size_t i = 0; i < bytes.size(); ++i) out.emplace_back("\xEF\xBF\xBD");
        }
        bytes.clear();
    };
    for (const std::string& token : tokens) {
        if (const int byte = byte_named(token); byte >= 0) {
            bytes.push_back(static_cast<char>(byte));
            continue;
        }
        flush();
        out.push_back(token);
    }
    flush();
    return out;
}

Tokens strip(Tokens tokens, const std::string& content, std::int64_t start, std::int64_t stop) {
    for (std::string& token : tokens) {
        for (std::int64_t i = 0; i < start && token.starts_with(content); ++i) token.erase(0, content.size());
        for (std::int64_t i = 0; i < stop && token.ends_with(content); ++i) token.resize(token.size() - content.size());
    }
    return tokens;
}

std::string replaced(const std::string& text, const std::string& what, const std::string& by) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t found = text.find(what, at);
        out.append(text, at, found == std::string::npos ? std::string::npos : found - at);
        if (found == std::string::npos) break;
        out += by;
        at = found + what.size();
    }
    return out;
}

/// Blanks that English does not write before punctuation and contractions.
std::string cleaned_up(std::string text) {
    constexpr std::array<std::pair<const char*, const char*>, 11> rules{{{" .", "."},
                                                                         {" ?", "?"},
                                                                         {" !", "!"},
                                                                         {" ,", ","},
                                                                         {" ' ", "'"},
                                                                         {" n't", "n't"},
                                                                         {" 'm", "'m"},
                                                                         {" do not", " don't"},
                                                                         {" 's", "'s"},
                                                                         {" 've", "'ve"},
                                                                         {" 're", "'re"}}};
    for (const auto& [what, by] : rules) text = replaced(text, what, by);
    return text;
}

Tokens word_piece(Tokens tokens, const std::string& prefix, bool clean) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (i > 0) tokens[i] = tokens[i].starts_with(prefix) ? tokens[i].substr(prefix.size()) : " " + tokens[i];
        if (clean) tokens[i] = cleaned_up(tokens[i]);
    }
    return tokens;
}

Result<std::unique_ptr<Decoder>> replace_from(const Json& json) {
    PLIMSOLL_TRY(const Pattern pattern, pattern_at(json, "pattern"));
    return tokens_change([pattern, content = text_at(json, "content")](Tokens tokens) -> Result<Tokens> {
        for (std::string& token : tokens) {
            PLIMSOLL_TRY(const auto parts, pattern.divide(token));
            std::string out;
            for (const Range& part : parts) {
                out += part.matched ? std::string_view(content)
                                    : std::string_view(token).substr(part.begin, part.end - part.begin);
            }
            token = std::move(out);
        }
        return tokens;
    });
}

Result<std::unique_ptr<Decoder>> metaspace_from(const Json& json) {
    const std::string mark = text_at(json, "replacement", "\xE2\x96\x81");
    const std::string scheme =
        text_at(json, "prepend_scheme", flag_at(json, "add_prefix_space", true) ? "always" : "never");
    if (mark.empty()) return bad_input("the decoder Metaspace has no replacement");
    return tokens_change([mark, first = scheme != "never"](Tokens tokens) -> Result<Tokens> {
        for (std::size_t i = 0; i < tokens.size(); ++i)
            tokens[i] = replaced(tokens[i], mark, i == 0 && first ? "" : " ");
        return tokens;
    });
}

Result<std::unique_ptr<Decoder>> decoders_from(const Json& json) {
    auto steps = std::make_shared<std::vector<std::unique_ptr<Decoder>>>();
    for (const Json& each : list_at(json, "decoders")) {
        PLIMSOLL_TRY(auto step, decoder_from(each));
        if (step) steps->push_back(std::move(step));
    }
    return tokens_change([steps](Tokens tokens) -> Result<Tokens> {
        for (const auto& step : *steps) {
            PLIMSOLL_TRY(tokens, step->apply(std::move(tokens)));
        }
        return tokens;
    });
}

std::int64_t count_at(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

Result<std::unique_ptr<Decoder>> decoder_from(const Json& json) {
    if (json.is_null()) return std::unique_ptr<Decoder>();
    const std::string type = type_of(json);
    if (type == "ByteLevel")
        return tokens_change([](const Tokens& tokens) -> Result<Tokens> { return byte_level(tokens); });
    if (type == "ByteFallback")
        return tokens_change([](const Tokens& tokens) -> Result<Tokens> { return byte_fallback(tokens); });
    if (type == "Fuse") {
        return tokens_change([](const Tokens& tokens) -> Result<Tokens> {
            std::string all;
            for (const std::string& token : tokens) all += token;
            return Tokens{all};
        });
    }
    if (type == "Strip") {
        const std::string content = text_at(json, "content");
        if (content.empty()) return bad_input("the decoder Strip has no content");
        return tokens_change(
            [content, start = count_at(json, "start"), stop = count_at(json, "stop")](Tokens tokens) -> Result<Tokens> {
                return strip(std::move(tokens), content, start, stop);
            });
    }
    if (type == "WordPiece") {
        return tokens_change([prefix = text_at(json, "prefix", "##"),
                              clean = flag_at(json, "cleanup", true)](Tokens tokens) -> Result<Tokens> {
            return word_piece(std::move(tokens), prefix, clean);
        });
    }
    if (type == "BPEDecoder") {
        const std::string suffix = text_at(json, "suffix", "</w>");
        if (suffix.empty()) return bad_input("the decoder BPEDecoder has no suffix");
        return tokens_change([suffix](Tokens tokens) -> Result<Tokens> {
            for (std::size_t i = 0; i < tokens.size(); ++i) {
                tokens[i] = replaced(tokens[i], suffix, i + 1 == tokens.size() ? "" : " ");
            }
            return tokens;
        });
    }
    if (type == "Metaspace") return metaspace_from(json);
    if (type == "Replace") return replace_from(json);
    if (type == "Sequence") return decoders_from(json);
    return bad_input("the decoder {} is not known", shown(json));
}

}  // namespace plimsoll
