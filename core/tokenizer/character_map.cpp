// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/character_map.h"

#include <cstring>

#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

// A unit of darts-clone: whether it has a leaf, its label, the distance to its children; a leaf's unit is its value.
bool has_leaf(std::uint32_t unit) { return ((unit >> 8) & 1) != 0; }
std::uint32_t label(std::uint32_t unit) { return unit & ((1U << 31) | 0xFF); }
std::uint32_t offset(std::uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); }
std::uint32_t value(std::uint32_t unit) { return unit & ((1U << 31) - 1); }

int value_of_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

}  // namespace

Result<std::string> from_base64(std::string_view text) {
    std::string out;
    out.reserve(text.size() / 4 * 3);
    std::uint32_t bits = 0;
    int held = 0;
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    for (const char c : text) {
        const int digit = value_of_digit(c);
        if (digit < 0) return bad_input("a table in base64 holds another character; the file is damaged");
        bits = (bits << 6) | static_cast<std::uint32_t>(digit);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out.push_back(static_cast<char>(static_cast<unsigned char>((bits >> held) & 0xFF)));
    }
    return out;
}

Result<CharacterMap> CharacterMap::from_bytes(std::string_view bytes) {
    const auto damaged = [] { return bad_input("the table of replacements (precompiled_charsmap) is damaged"); };
    std::uint32_t size = 0;
    if (bytes.size() < sizeof size) return damaged();
    std::memcpy(&size, bytes.data(), sizeof size);
    if (size % 4 != 0 || size == 0 || size > bytes.size() - sizeof size) return damaged();
    CharacterMap map;
    map.units_.resize(size / 4);
    std::memcpy(map.units_.data(), bytes.data() + sizeof size, size);
    map.replacements_ = bytes.substr(sizeof size + size);
    map.replacements_.push_back('\0');
    return map;
}

const char* CharacterMap::replacement(std::string_view text) const {
    std::size_t node = offset(units_[0]);
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        node ^= byte;
        if (node >= units_.size() || label(units_[node]) != byte) return nullptr;
        const bool leaf = has_leaf(units_[node]);
        node ^= offset(units_[node]);
        if (!leaf) continue;
        if (node >= units_.size() || value(units_[node]) >= replacements_.size()) return nullptr;
        return replacements_.c_str() + value(units_[node]);
    }
    return nullptr;
}

std::string CharacterMap::apply(std::string_view text) const {
    constexpr std::size_t looked_up_whole = 6;
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = grapheme_end(text, at);
        const std::string_view grapheme = text.substr(at, end - at);
        const char* whole = grapheme.size() < looked_up_whole ? replacement(grapheme) : nullptr;
        if (whole != nullptr) {
            out += whole;
        } else {
            for (std::size_t i = 0; i < grapheme.size();) {
                const std::string_view one = grapheme.substr(i, character_at(grapheme, i).bytes);
                const char* made = replacement(one);
                out.append(made != nullptr ? std::string_view(made) : one);
                i += one.size();
            }
        }
        at = end;
    }
    return out;
}

}  // namespace plimsoll
