// SPDX-License-Identifier: Apache-2.0
// Characters of UTF-8 text and what Unicode says of them (utf8proc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

struct Character {
    char32_t code = 0;
    std::size_t bytes = 1;
};

/// The character that begins at `at`, of valid UTF-8.
Character character_at(std::string_view text, std::size_t at);
void append_utf8(std::string& out, char32_t code);

/// The text with each maximal part that is not UTF-8 replaced by U+FFFD, as Python's errors="replace" does.
/// `replaced` counts them.
std::string valid_text(std::string_view bytes, std::int64_t* replaced = nullptr);

/// The property White_Space.
bool is_space(char32_t code);
/// Category P.
bool is_punctuation(char32_t code);
/// Category N.
bool is_numeric(char32_t code);
/// Categories Mn, Mc and Me.
bool is_mark(char32_t code);
/// Category Mn.
bool is_nonspacing_mark(char32_t code);
/// What BERT's cleaning removes in the `tokenizers` library: categories Cc and Cf, but not tab, line feed and carriage
/// return.
bool is_control(char32_t code);
/// What \w stands for in the Rust crate regex: letters, marks, digits, letter numbers, connecting punctuation, joiners.
bool is_word(char32_t code);

/// Each character by its full lower case, without the rules of a language or of a word's end (Rust's to_lowercase).
std::string lower_case(std::string_view text);

enum class NormalForm : std::uint8_t { Nfc, Nfd, Nfkc, Nfkd };
std::string normal_form(std::string_view text, NormalForm form);

/// Where the grapheme cluster that begins at `at` ends (Unicode's annex 29, extended).
std::size_t grapheme_end(std::string_view text, std::size_t at);

}  // namespace plimsoll
