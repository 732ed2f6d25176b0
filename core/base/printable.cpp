// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

namespace plimsoll {

namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

std::string shown_text(std::string_view text, bool keep_lines) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const auto found = code_point(text, at);
        if (!found) {
            out += replacement;
            ++at;
            continue;
        }
        const bool layout = found->value == '\n' || found->value == '\t';
        if (layout && keep_lines)
            out += text[at];
        else if (layout || found->value == 0x2028 || found->value == 0x2029)
            out += ' ';
        else if (!steers_terminal(found->value))
            out += text.substr(at, found->bytes);
        at += found->bytes;
    }
    return out;
}

}  // namespace

std::optional<CodePoint> code_point(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(at);
    if (first < 0x80) return CodePoint{first, 1};
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return std::nullopt;
    char32_t value = first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xC0U) != 0x80U) return std::nullopt;
        value = value << 6 | (byte(at + i) & 0x3FU);
    }
    const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (overlong || surrogate || value > 0x10FFFF) return std::nullopt;
    return CodePoint{value, length};
}

bool steers_terminal(char32_t value) {
    return value < 0x20 || (value >= 0x7F && value <= 0x9F) || value == 0x061C || value == 0x200E || value == 0x200F ||
           (value >= 0x202A && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

std::string printable(std::string_view text) { return shown_text(text, false); }
std::string printable_lines(std::string_view text) { return shown_text(text, true); }

}  // namespace plimsoll
