// SPDX-License-Identifier: Apache-2.0
// Text of others (names, samples, messages of other programs) made safe to show: in a terminal, a log or a window it is
// text and nothing else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace plimsoll {

/// The text on one line, without characters that steer a terminal or turn the order of letters: controls of ASCII and of
/// Latin-1 (U+0080 to U+009F, which some terminals take for escape sequences), and the marks of Unicode's bidirectional
/// algorithm (UAX #9, section 2; "Trojan Source", Boucher 2021). Line breaks and tabs become spaces, bytes that are no
/// UTF-8 become U+FFFD.
std::string printable(std::string_view text);
/// Likewise, but line breaks and tabs stay.
std::string printable_lines(std::string_view text);

/// The code point that starts at `at` and its length in bytes; none where the bytes are no UTF-8 (RFC 3629).
struct CodePoint {
    char32_t value = 0;
    std::size_t bytes = 0;
};
std::optional<CodePoint> code_point(std::string_view text, std::size_t at);
/// Whether the code point shows nothing and steers: see printable().
bool steers_terminal(char32_t value);

}  // namespace plimsoll
