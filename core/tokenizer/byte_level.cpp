// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/byte_level.h"

#include <array>

#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

struct Table {
    std::array<char32_t, 256> characters{};
    std::array<int, 512> bytes{};
};

constexpr Table make_table() {
    Table table;
    table.bytes.fill(-1);
    char32_t next = 256;
    for (int byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        const char32_t code = printable ? static_cast<char32_t>(byte) : next++;
        table.characters[static_cast<std::size_t>(byte)] = code;
        table.bytes[code] = byte;
    }
    return table;
}
constexpr Table table = make_table();

}  // namespace

char32_t character_of_byte(unsigned char byte) { return table.characters[byte]; }

std::optional<unsigned char> byte_of_character(char32_t code) {
    if (code >= table.bytes.size() || table.bytes[code] < 0) return std::nullopt;
    return static_cast<unsigned char>(table.bytes[code]);
}

std::string byte_characters(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char byte : bytes) append_utf8(out, character_of_byte(static_cast<unsigned char>(byte)));
    return out;
}

}  // namespace plimsoll
