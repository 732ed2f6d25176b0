// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/relaxed_json.h"

#include <algorithm>
#include <optional>

namespace plimsoll {

namespace {

/// Place behind the string that begins at `i`.
std::size_t end_of_string(std::string_view text, std::size_t i) {
    for (++i; i < text.size() && text[i] != '"' && text[i] != '\n'; ++i) {
        if (text[i] == '\\') ++i;
    }
    return std::min(i + 1, text.size());
}

/// Place behind the comment that begins at `i`; nothing where none does.
std::optional<std::size_t> end_of_comment(std::string_view text, std::size_t i) {
    const bool line = text[i] == '#' || text.substr(i, 2) == "//";
    if (line) return std::min(text.find('\n', i), text.size());
    if (text.substr(i, 2) != "/*") return std::nullopt;
    const std::size_t end = text.find("*/", i + 2);
    return end == std::string_view::npos ? text.size() : end + 2;
}

}  // namespace

std::string without_comments(std::string_view text) {
    std::string out(text);
    std::optional<std::size_t> comma;
    for (std::size_t i = 0; i < text.size();) {
        if (const auto end = end_of_comment(text, i)) {
            for (; i < *end; ++i) {
                if (out[i] != '\n') out[i] = ' ';
            }
            continue;
        }
        const char c = text[i];
        if (c == '"') {
            comma.reset();
            i = end_of_string(text, i);
            continue;
        }
        if ((c == '}' || c == ']') && comma) out[*comma] = ' ';
        if (c == ',') {
            comma = i;
        } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
            comma.reset();
        }
        ++i;
    }
    return out;
}

}  // namespace plimsoll
