// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "core/base/output.h"

namespace plimsoll::cli {

namespace {

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

/// Shortens a text, so that a name of 100 kB does not push the rest of the sentence off the screen.
std::string without_middle(std::string text) {
    constexpr std::size_t most = 4'000, kept = most / 2;
    if (text.size() <= most) return text;
    std::size_t head = kept, tail = text.size() - kept;
    while (head > 0 && !starts_character(text[head])) --head;
    while (tail < text.size() && !starts_character(text[tail])) ++tail;
    return text.substr(0, head) + " … " + text.substr(tail);
}

std::optional<int> columns_variable() {
    const char* const text = std::getenv("COLUMNS");
    int columns = 0;
    if (text == nullptr || std::from_chars(text, text + std::strlen(text), columns).ec != std::errc()) return {};
    return std::clamp(columns, 20, 500);
}

/// Where the part of a line begins that its broken rest stands under: behind the last gap of two spaces or more in the
/// left half, or two spaces further in than the line.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
    const std::size_t lead = std::min(line.find_first_not_of(' '), line.size());
    std::size_t indent = std::min(lead + 2, columns / 2), column = 0;
    for (std::size_t i = 0; i < line.size() && column <= columns / 2; ++i) {
        if (line[i] == '\x1b') {
            i = std::min(line.find('m', i), line.size());
            continue;
        }
        if (starts_character(line[i])) ++column;
        if (i > lead + 1 && line[i] != ' ' && line[i - 1] == ' ' && line[i - 2] == ' ') indent = column - 1;
    }
    return indent;
}

/// Breaks at the last space that fits; a word longer than a line stays whole.
std::string broken_line(std::string_view line, std::size_t columns) {
    const std::size_t indent = hanging_indent(line, columns);
    std::string out;
    std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    out.append(start, ' ');
    std::size_t column = start, pending = 0;  // spaces before the next word
    while (start < line.size()) {
        const std::size_t end = std::min(line.find(' ', start), line.size());
        const std::string_view word = line.substr(start, end - start);
        const std::size_t size = shown_width(word);
        if (pending > 0 && column + pending + size > columns && column > indent) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
        } else {
            out.append(pending, ' ');
            column += pending;
        }
        out += word;
        column += size;
        start = std::min(line.find_first_not_of(' ', end), line.size());
        pending = start - end;
    }
    return out;
}

}  // namespace

bool is_terminal(std::FILE* stream) {
    const char* kind = std::getenv("TERM");
    return ::isatty(::fileno(stream)) == 1 && kind != nullptr && std::string_view(kind) != "dumb";
}

bool has_colours() {
    static const bool colours = is_terminal(stdout) && std::getenv("NO_COLOR") == nullptr;
    return colours;
}

TerminalSize terminal_size() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
        return {.columns = columns_variable().value_or(TerminalSize().columns)};
    }
    return {std::clamp<int>(size.ws_col, 20, 500), std::clamp<int>(size.ws_row, 5, 300)};
}

bool knows_width() { return ::isatty(STDOUT_FILENO) == 1 || columns_variable(); }

std::string coloured(std::string_view text, int colour) {
    return has_colours() ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", colour, text) : std::string(text);
}

std::string bold(std::string_view text) {
    return has_colours() ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::size_t shown_width(std::string_view text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            while (i < text.size() && text[i] != 'm') ++i;
        } else if (starts_character(text[i])) {
            ++width;
        }
    }
    return width;
}

std::string fitted(std::string_view text, std::size_t width, bool right) {
    const std::size_t shown = shown_width(text);
    if (shown <= width) {
        const std::string space(width - shown, ' ');
        return right ? space + std::string(text) : std::string(text) + space;
    }
    if (width == 0) return "";
    std::string cut;
    std::size_t taken = 0;
    bool styled = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b') {
            const std::size_t end = std::min(text.find('m', i), text.size() - 1);
            cut += text.substr(i, end - i + 1);
            styled = true;
            i = end;
            continue;
        }
        if (starts_character(text[i]) && ++taken >= width) break;
        cut += text[i];
    }
    return cut + (styled ? "\x1b[0m…" : "…");
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
    std::string out;
    std::size_t column = 0;
    while (!text.empty()) {
        const std::size_t space = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, space);
        text.remove_prefix(std::min(space + 1, text.size()));
        const std::size_t size = shown_width(word);
        if (column > 0 && column + 1 + size > width) {
            out += '\n';
            out.append(indent, ' ');
            column = indent;
        } else if (column > 0) {
            out += ' ';
            ++column;
        }
        out += word;
        column += size;
    }
    return out;
}

std::string laid_out(std::string_view text, std::size_t columns) {
    std::string out;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        out += shown_width(line) <= columns ? std::string(line) : broken_line(line, columns);
        if (end < text.size()) out += '\n';
        begin = end + 1;
    }
    return out;
}

std::string without_escapes(std::string_view text) {
    std::string out;
    std::size_t plain = 0;
    for (std::size_t at = text.find('\x1b'); at != std::string_view::npos; at = text.find('\x1b', at + 1)) {
        const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
        const bool style = text.substr(at + 1, 1) == "[" && end != std::string_view::npos && text[end] == 'm';
        if (!style || !has_colours()) continue;
        out += printable_lines(text.substr(plain, at - plain));
        out += text.substr(at, end + 1 - at);
        plain = end + 1;
    }
    return out + printable_lines(text.substr(plain));
}

void say(std::string_view text) {
    const std::string safe = without_escapes(text);
    say_exactly(knows_width() ? laid_out(safe, static_cast<std::size_t>(terminal_size().columns)) : safe);
}

void say_json(const Json& json, bool one_line) {
    say_exactly(json.dump(one_line ? -1 : 2, ' ', false, Json::error_handler_t::replace) + "\n");
}

void say_exactly(std::string_view text) { print(text); }

void warn(std::string_view sentence) {
    print_error(fmt::format("plimsoll: {}\n", without_middle(printable(sentence))));
}

void note(std::string_view sentence) { print_error(fmt::format("note: {}\n", without_middle(printable(sentence)))); }

}  // namespace plimsoll::cli
