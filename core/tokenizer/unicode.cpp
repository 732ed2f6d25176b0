// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace plimsoll {

namespace {

utf8proc_category_t category(char32_t code) { return utf8proc_category(static_cast<utf8proc_int32_t>(code)); }

bool between(unsigned char byte, unsigned char low, unsigned char high) { return byte >= low && byte <= high; }

/// Of the character that begins at `at`: its bytes, all present; or, negative, those that are not UTF-8 together.
int valid_bytes(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
    };
    const unsigned char first = byte(at);
    if (first < 0x80) return 1;
    const int length = between(first, 0xC2, 0xDF)   ? 2
                       : between(first, 0xE0, 0xEF) ? 3
                       : between(first, 0xF0, 0xF4) ? 4
                                                    : 0;
    if (length == 0) return -1;
    // The second byte has narrower borders where the form would be too long, a surrogate or above U+10FFFF.
    const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (!between(byte(at + 1), low, high)) return -1;
    for (int i = 2; i < length; ++i)
        if (!between(byte(at + static_cast<std::size_t>(i)), 0x80, 0xBF)) return -i;
    return length;
}

}  // namespace

Character character_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[at + i])); };
    const char32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if (first < 0xE0 && at + 1 < text.size()) return {((first & 0x1F) << 6) | (byte(1) & 0x3F), 2};
    if (first < 0xF0 && at + 2 < text.size())
        return {((first & 0x0F) << 12) | ((byte(1) & 0x3F) << 6) | (byte(2) & 0x3F), 3};
    if (at + 3 < text.size())
        return {((first & 0x07) << 18) | ((byte(1) & 0x3F) << 12) | ((byte(2) & 0x3F) << 6) | (byte(3) & 0x3F), 4};
    return {0xFFFD, 1};
}

void append_utf8(std::string& out, char32_t code) {
    const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
    if (code < 0x80) return put(code);
    if (code < 0x800) {
        put(0xC0 | (code >> 6));
        return put(0x80 | (code & 0x3F));
    }
    if (code < 0x10000) {
        put(0xE0 | (code >> 12));
    } else {
        put(0xF0 | (code >> 18));
        put(0x80 | ((code >> 12) & 0x3F));
    }
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
}

std::string valid_text(std::string_view bytes, std::int64_t* replaced) {
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const int length = valid_bytes(bytes, at);
        if (length > 0) {
            out.append(bytes, at, static_cast<std::size_t>(length));
        } else {
            append_utf8(out, 0xFFFD);
            if (replaced != nullptr) ++*replaced;
        }
        at += static_cast<std::size_t>(std::abs(length));
    }
    return out;
}

bool is_space(char32_t code) {
    if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0D);
    return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
           code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_punctuation(char32_t code) {
    const auto kind = category(code);
    return kind >= UTF8PROC_CATEGORY_PC && kind <= UTF8PROC_CATEGORY_PO;
}

bool is_numeric(char32_t code) {
    const auto kind = category(code);
    return kind >= UTF8PROC_CATEGORY_ND && kind <= UTF8PROC_CATEGORY_NO;
}

bool is_mark(char32_t code) {
    const auto kind = category(code);
    return kind >= UTF8PROC_CATEGORY_MN && kind <= UTF8PROC_CATEGORY_ME;
}

bool is_nonspacing_mark(char32_t code) { return category(code) == UTF8PROC_CATEGORY_MN; }

bool is_control(char32_t code) {
    if (code == '\t' || code == '\n' || code == '\r') return false;
    const auto kind = category(code);
    // The library's list of private characters ends with the first plane.
    return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF || (code >= 0xE000 && code <= 0xF8FF);
}

bool is_word(char32_t code) {
    const auto kind = category(code);
    return (kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_NL) || kind == UTF8PROC_CATEGORY_PC ||
           code == 0x200C || code == 0x200D;
}

std::string lower_case(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        if (c.code == 0x130) {
            out += "i\xCC\x87";  // the one letter whose lower case is two characters
        } else {
            append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c.code))));
        }
        at += c.bytes;
    }
    return out;
}

std::string normal_form(std::string_view text, NormalForm form) {
    auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE);
    const auto add = [&](utf8proc_option_t option) { options = static_cast<utf8proc_option_t>(options | option); };
    add(form == NormalForm::Nfc || form == NormalForm::Nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE);
    if (form == NormalForm::Nfkc || form == NormalForm::Nfkd) add(UTF8PROC_COMPAT);
    utf8proc_uint8_t* made = nullptr;
    const auto length = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &made, options);
    const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
    if (length < 0) return std::string(text);
    return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(length)};
}

std::size_t grapheme_end(std::string_view text, std::size_t at) {
    utf8proc_int32_t state = 0;
    Character c = character_at(text, at);
    at += c.bytes;
    while (at < text.size()) {
        const Character next = character_at(text, at);
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.code),
                                             static_cast<utf8proc_int32_t>(next.code), &state)) {
            break;
        }
        at += next.bytes;
        c = next;
    }
    return at;
}

}  // namespace plimsoll
