// SPDX-License-Identifier: Apache-2.0
#include "app/cli/terminal/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "core/base/file.h"

namespace plimsoll::cli {

namespace {

int write_error = 0;

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
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
    return {std::clamp<int>(size.ws_col, 20, 500), std::clamp<int>(size.ws_row, 5, 300)};
}

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

std::string printable(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '\n' || c == '\t')
            out += ' ';
        else if (byte >= 0x20 && byte != 0x7f)
            out += c;
    }
    return out;
}

void say(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && write_error == 0) write_error = errno;
}

void warn(std::string_view sentence) { fmt::print(stderr, "plimsoll: {}\n", without_middle(printable(sentence))); }

Result<void> finish_output() {
    if (std::fflush(stdout) != 0 && write_error == 0) write_error = errno;
    // The reader has enough (`| head`): no error.
    if (write_error == 0 || write_error == EPIPE) return {};
    return failed("cannot write to standard output: {}", errno_text(write_error));
}

}  // namespace plimsoll::cli
