// SPDX-License-Identifier: Apache-2.0
// The abilities of the terminal, and text that fits it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/base/printable.h"

namespace plimsoll::cli {

/// Whether the stream is a terminal that takes escape sequences (and, for colours, NO_COLOR is not set).
bool is_terminal(std::FILE* stream);
bool has_colours();
/// Whether standard output has a width: that of a terminal or of the variable COLUMNS.
bool knows_width();
/// Columns and rows; where there is no terminal, COLUMNS or 100, and 30.
struct TerminalSize {
    int columns = 100;
    int rows = 30;
};
TerminalSize terminal_size();

/// The text in a colour of the 256-colour palette, or unchanged where there are no colours.
std::string coloured(std::string_view text, int colour);
std::string bold(std::string_view text);

/// Width of the text on the screen: UTF-8 code points less escape sequences.
std::size_t shown_width(std::string_view text);
/// The text filled with spaces (left- or right-aligned) or cut with "…" to exactly `width`.
std::string fitted(std::string_view text, std::size_t width, bool right = false);
/// The text broken at spaces into lines of `width`, each but the first after `indent` spaces.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);
/// The text with every line that is longer than `columns` broken at spaces. What follows a break stands under the last
/// column of the line (after two spaces or more) in its left half, or two spaces further in than the line.
std::string laid_out(std::string_view text, std::size_t columns);
/// The text without anything that steers a terminal but colours and bold.
std::string without_escapes(std::string_view text);

/// Writes text for people to standard output: without_escapes(), and laid_out() where a terminal (or the variable COLUMNS)
/// says how wide it is. An error (disk full) is remembered and reported by finish_output().
void say(std::string_view text);
/// Writes JSON, indented by two spaces, or on one line; bytes that are no UTF-8 become U+FFFD.
void say_json(const Json& json, bool one_line = false);
/// Writes the bytes of a file, or the escape sequences of a full-screen view, as they are.
void say_exactly(std::string_view bytes);
/// Write one line to standard error, no longer than a few screens, whatever the sentence quotes: "plimsoll: …",
/// "note: …".
void warn(std::string_view sentence);
void note(std::string_view sentence);

}  // namespace plimsoll::cli
