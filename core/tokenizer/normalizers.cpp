// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/normalizers.h"

#include <functional>

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/character_map.h"
#include "core/tokenizer/pattern.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

/// A step that is a function.
class TextChange final : public Normalizer {
public:
    explicit TextChange(std::function<std::string(std::string)> change) : change_(std::move(change)) {}
    Result<void> apply(std::string& text) const override {
        text = change_(std::move(text));
        return {};
    }

private:
    std::function<std::string(std::string)> change_;
};

class NormalizerSteps final : public Normalizer {
public:
    explicit NormalizerSteps(std::vector<std::unique_ptr<Normalizer>> steps) : steps_(std::move(steps)) {}
    Result<void> apply(std::string& text) const override {
        for (const auto& step : steps_) PLIMSOLL_CHECK(step->apply(text));
        return {};
    }

private:
    std::vector<std::unique_ptr<Normalizer>> steps_;
};

class ReplaceText final : public Normalizer {
public:
    ReplaceText(Pattern pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}
    Result<void> apply(std::string& text) const override {
        PLIMSOLL_TRY(const auto parts, pattern_.divide(text));
        std::string out;
        out.reserve(text.size());
        for (const Range& part : parts) {
            out.append(part.matched ? std::string_view(content_)
                                    : std::string_view(text).substr(part.begin, part.end - part.begin));
        }
        text = std::move(out);
        return {};
    }

private:
    Pattern pattern_;
    std::string content_;
};

/// The text's characters for which `put` appends what stands in their place.
std::string changed(std::string_view text, const std::function<void(std::string&, char32_t)>& put) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        put(out, c.code);
        at += c.bytes;
    }
    return out;
}

std::string without(std::string_view text, bool (*left_out)(char32_t)) {
    return changed(text, [left_out](std::string& out, char32_t code) {
        if (!left_out(code)) append_utf8(out, code);
    });
}

std::string stripped(std::string_view text, bool left, bool right) {
    std::size_t begin = 0, end = 0;
    bool seen = false;
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        const bool space = is_space(c.code);
        if (!space && !seen) {
            begin = at;
            seen = true;
        }
        at += c.bytes;
        if (!space) end = at;
    }
    if (!seen) return left || right ? std::string() : std::string(text);
    begin = left ? begin : 0;
    end = right ? end : text.size();
    return std::string(text.substr(begin, end - begin));
}

/// Blocks of Chinese characters, as BERT's tokenizer lists them.
bool is_chinese(char32_t c) {
    const auto in = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
    return in(0x4E00, 0x9FFF) || in(0x3400, 0x4DBF) || in(0x20000, 0x2A6DF) || in(0x2A700, 0x2B73F) ||
           in(0x2B740, 0x2B81F) || in(0x2B920, 0x2CEAF) || in(0xF900, 0xFAFF) || in(0x2F800, 0x2FA1F);
}

/// BERT's cleaning (Devlin 2018, tokenization.py).
std::string bert(std::string text, bool clean, bool chinese, bool strip_accents, bool lower) {
    if (clean) {
        text = changed(text, [](std::string& out, char32_t code) {
            if (code == 0 || code == 0xFFFD || is_control(code)) return;
            append_utf8(out, is_space(code) ? U' ' : code);
        });
    }
    if (chinese) {
        text = changed(text, [](std::string& out, char32_t code) {
            const bool pad = is_chinese(code);
            if (pad) out += ' ';
            append_utf8(out, code);
            if (pad) out += ' ';
        });
    }
    if (strip_accents) text = without(normal_form(text, NormalForm::Nfd), is_nonspacing_mark);
    return lower ? lower_case(text) : text;
}

/// Marian's and SentencePiece's rules: some controls go, other blanks are spaces.
std::string nmt(std::string_view text) {
    return changed(text, [](std::string& out, char32_t c) {
        const auto in = [c](char32_t low, char32_t high) { return c >= low && c <= high; };
        if (in(0x1, 0x8) || c == 0xB || in(0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) return;
        const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || in(0x200B, 0x200F) ||
                           c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
        append_utf8(out, space ? U' ' : c);
    });
}

std::unique_ptr<Normalizer> text_change(std::function<std::string(std::string)> change) {
    return std::make_unique<TextChange>(std::move(change));
}

Result<std::unique_ptr<Normalizer>> bert_from(const Json& json) {
    const bool lower = flag_at(json, "lowercase", true), clean = flag_at(json, "clean_text", true),
               chinese = flag_at(json, "handle_chinese_chars", true), accents = flag_at(json, "strip_accents", lower);
    return text_change([=](std::string text) { return bert(std::move(text), clean, chinese, accents, lower); });
}

Result<std::unique_ptr<Normalizer>> precompiled_from(const Json& json) {
    PLIMSOLL_TRY(const std::string bytes, from_base64(text_at(json, "precompiled_charsmap")));
    PLIMSOLL_TRY(const CharacterMap map, CharacterMap::from_bytes(bytes));
    return text_change([map](const std::string& text) { return map.apply(text); });
}

Result<std::unique_ptr<Normalizer>> normalizers_from(const Json& json) {
    std::vector<std::unique_ptr<Normalizer>> steps;
    for (const Json& each : list_at(json, "normalizers")) {
        PLIMSOLL_TRY(auto step, normalizer_from(each));
        if (step) steps.push_back(std::move(step));
    }
    return std::make_unique<NormalizerSteps>(std::move(steps));
}

}  // namespace

Result<std::unique_ptr<Normalizer>> normalizer_from(const Json& json) {
    if (json.is_null()) return std::unique_ptr<Normalizer>();
    const std::string type = type_of(json);
    const auto form = [](NormalForm which) {
        return text_change([which](const std::string& t) { return normal_form(t, which); });
    };
    if (type == "NFC") return form(NormalForm::Nfc);
    if (type == "NFD") return form(NormalForm::Nfd);
    if (type == "NFKC") return form(NormalForm::Nfkc);
    if (type == "NFKD") return form(NormalForm::Nfkd);
    if (type == "Lowercase") return text_change([](const std::string& text) { return lower_case(text); });
    if (type == "StripAccents") return text_change([](const std::string& text) { return without(text, is_mark); });
    if (type == "Nmt") return text_change([](const std::string& text) { return nmt(text); });
    if (type == "ByteLevel") return text_change([](const std::string& text) { return byte_characters(text); });
    if (type == "BertNormalizer") return bert_from(json);
    if (type == "Precompiled") return precompiled_from(json);
    if (type == "Sequence") return normalizers_from(json);
    if (type == "Strip") {
        const bool left = flag_at(json, "strip_left", true), right = flag_at(json, "strip_right", true);
        return text_change([=](const std::string& text) { return stripped(text, left, right); });
    }
    if (type == "Prepend") {
        return text_change(
            [before = text_at(json, "prepend")](std::string text) { return text.empty() ? text : before + text; });
    }
    if (type == "Replace") {
        PLIMSOLL_TRY(auto pattern, pattern_at(json, "pattern"));
        return std::make_unique<ReplaceText>(std::move(pattern), text_at(json, "content"));
    }
    return bad_input("the normalizer {} is not known", shown(json));
}

}  // namespace plimsoll
