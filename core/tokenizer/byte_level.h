// SPDX-License-Identifier: Apache-2.0
// The printable character that stands for each byte in byte-level vocabularies (GPT-2, Radford 2019).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// Printable Latin-1 stands for itself, the other 68 bytes are U+0100 and on.
char32_t character_of_byte(unsigned char byte);
std::optional<unsigned char> byte_of_character(char32_t code);
/// Each byte as its character.
std::string byte_characters(std::string_view bytes);

}  // namespace plimsoll
