// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/relaxed_json.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/json.h"

namespace plimsoll {

namespace {

constexpr int deepest = 100;
constexpr std::size_t none = std::string::npos;
constexpr std::string_view punctuation = "{}[],:";

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

std::string quoted(std::string_view text) {
    return Json(std::string(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// true, false, null or a number, as hjson's decoder tells them from a text without quotes.
bool is_literal(std::string_view text) {
    if (text == "true" || text == "false" || text == "null") return true;
    return !text.empty() && (text.front() == '-' || std::isdigit(static_cast<unsigned char>(text.front()))) &&
           Json::accept(text);
}

/// Reads hjson and writes JSON, token by token; blanks and line ends are copied, comments become blanks.
class Rewriter {
public:
    explicit Rewriter(std::string_view text) : text_(text) {}

    std::optional<std::string> rewritten() {
        skip();
        const bool braces = at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '[');
        if (!braces) out_ += '{';
        if (braces ? !value(0) : !members(0, '\0')) return std::nullopt;
        if (!braces) out_ += '}';
        skip();
        if (at_ < text_.size()) return std::nullopt;
        return std::move(out_);
    }

private:
    bool at_end() const { return at_ >= text_.size(); }
    void copy() { out_ += text_[at_++]; }
    void blank() {
        out_ += text_[at_] == '\n' ? '\n' : ' ';
        ++at_;
    }

    void skip() {
        while (!at_end()) {
            if (is_space(text_[at_])) {
                copy();
                continue;
            }
            const std::string_view two = text_.substr(at_, 2);
            std::size_t end = at_;
            if (text_[at_] == '#' || two == "//") {
                end = std::min(text_.find('\n', at_), text_.size());
            } else if (two == "/*") {
                const std::size_t close = text_.find("*/", at_ + 2);
                end = close == std::string_view::npos ? text_.size() : close + 2;
            } else {
                return;
            }
            while (at_ < end) blank();
        }
    }

    /// The comma is put where the text has it, or behind the value before where it has none.
    void separate(std::size_t& comma, bool first) {
        if (comma != none) {
            out_[comma] = ',';
            comma = none;
        } else if (!first) {
            out_ += ',';
        }
    }

    /// Members up to `close`; '\0': up to the end of the text.
    bool members(int depth, char close) {
        std::size_t comma = none;
        for (bool first = true;; first = false) {
            skip();
            if (at_end()) return close == '\0';
            if (text_[at_] == close) {
                copy();
                return true;
            }
            separate(comma, first);
            if (close != ']' && !name()) return false;
            if (!value(depth + 1)) return false;
            skip();
            if (!at_end() && text_[at_] == ',') {
                comma = out_.size();
                blank();
            }
        }
    }

    bool name() {
        if (text_[at_] == '"' || text_[at_] == '\'') {
            if (!string()) return false;
            skip();
        } else {
            const std::size_t begin = at_;
            while (!at_end() && !is_space(text_[at_]) && punctuation.find(text_[at_]) == std::string_view::npos) ++at_;
            if (at_ == begin) return false;
            out_ += quoted(text_.substr(begin, at_ - begin));
            skip();
        }
        if (at_end() || text_[at_] != ':') return false;
        copy();
        skip();
        return true;
    }

    bool value(int depth) {
        if (at_end() || depth > deepest) return false;
        const char c = text_[at_];
        if (c == '{' || c == '[') {
            copy();
            return members(depth, c == '{' ? '}' : ']');
        }
        if (c == '"' || c == '\'') return string();
        if (punctuation.find(c) != std::string_view::npos) return false;
        return literal_or_text();
    }

    bool string() {
        if (text_.substr(at_, 3) == "'''") {
            const std::size_t end = text_.find("'''", at_ + 3);
            if (end == std::string_view::npos) return false;
            out_ += quoted(trimmed(text_.substr(at_ + 3, end - at_ - 3)));
            at_ = end + 3;
            return true;
        }
        const char quote = text_[at_];
        out_ += '"';
        for (++at_; !at_end() && text_[at_] != '\n'; copy()) {
            if (text_[at_] == quote) {
                ++at_;
                out_ += '"';
                return true;
            }
            if (text_[at_] == '"') out_ += '\\';
            if (text_[at_] == '\\' && text_.substr(at_ + 1, 1) == "'") ++at_;
            if (text_[at_] == '\\' && at_ + 1 < text_.size()) copy();
        }
        return false;
    }

    /// hjson.decoder: a literal ends at a comma, a bracket, a comment or the line's end; a text at the line's end alone.
    bool literal_or_text() {
        const std::size_t line = std::min(text_.find('\n', at_), text_.size());
        for (std::size_t end = at_; end <= line; ++end) {
            const bool stops = end == line || text_[end] == ',' || text_[end] == '}' || text_[end] == ']' ||
                               text_[end] == '#' || text_.substr(end, 2) == "//" || text_.substr(end, 2) == "/*";
            if (!stops) continue;
            const std::string_view word = trimmed(text_.substr(at_, end - at_));
            if (is_literal(word)) {
                out_ += word;
                at_ += word.size();
                return true;
            }
        }
        out_ += quoted(trimmed(text_.substr(at_, line - at_)));
        at_ = line;
        return true;
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
};

}  // namespace

std::string as_strict_json(std::string_view text) { return Rewriter(text).rewritten().value_or(std::string(text)); }

Result<RelaxedJson> parse_relaxed_json(std::string_view text, const std::string& what) {
    auto strict = parse_json(text, what);
    if (strict) return RelaxedJson{*std::move(strict), ""};
    const std::string rewritten = as_strict_json(text);
    if (rewritten == text) return tl::unexpected(strict.error());
    auto json = parse_json(rewritten, what);
    if (!json) return tl::unexpected(json.error());
    return RelaxedJson{*std::move(json), strict.error().message};
}

}  // namespace plimsoll
