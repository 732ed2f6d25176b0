// SPDX-License-Identifier: Apache-2.0
// The abilities of the terminal, and text that fits it.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace plimsoll::cli {

/// Whether the stream is a terminal that takes escape sequences (and, for colours, NO_COLOR is not set).
bool is_terminal(std::FILE* stream);
bool has_colours();
/// Columns and rows; 100 x 30 where there is no terminal.
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
/// Text from outside (a model's sample, a log) without control characters, so that it cannot steer the terminal.
std::string printable(std::string_view text);

/// Writes to standard output; an error (disk full) is remembered and reported by finish_output().
void say(std::string_view text);
/// Writes one line to standard error, no longer than a few screens, whatever the sentence quotes.
void warn(std::string_view sentence);
/// Flushes standard output; an error when some output could not be written.
Result<void> finish_output();

}  // namespace plimsoll::cli
