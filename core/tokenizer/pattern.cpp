// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>

namespace plimsoll {

namespace {

/// Oniguruma's \w and \s: PCRE2's know no marks, and one blank more.
constexpr const char* word_class = R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})";
constexpr const char* space_class =
    R"(\x{09}-\x{0d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

/// What stands for an escape of one letter, "" where PCRE2 means the same by it.
std::string class_of(char letter, bool inside) {
    const bool word = letter == 'w' || letter == 'W', space = letter == 's' || letter == 'S';
    const bool negated = letter == 'W' || letter == 'S';
    if ((!word && !space) || (inside && negated)) return "";
    const std::string members = word ? word_class : space_class;
    return inside ? members : (negated ? "[^" : "[") + members + "]";
}

/// As PCRE2 writes it: \u3040 is \x{3040}.
std::string as_pcre2(const std::string& expression) {
    std::string out;
    bool inside = false;  // [a class]
    for (std::size_t i = 0; i < expression.size(); ++i) {
        const char c = expression[i];
        if (c != '\\' || i + 1 == expression.size()) {
            if (c == '[') inside = true;
            if (c == ']') inside = false;
            out += c;
            continue;
        }
        const char letter = expression[++i];
        if (letter == 'u' && i + 4 < expression.size()) {
            out += "\\x{" + expression.substr(i + 1, 4) + "}";
            i += 4;
        } else if (const std::string members = class_of(letter, inside); !members.empty()) {
            out += members;
        } else {
            out += c;
            out += letter;
        }
    }
    return out;
}

std::string words_of(int error) {
    std::array<PCRE2_UCHAR, 256> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return reinterpret_cast<const char*>(text.data());
}

template <class T, auto Free>
struct Freed {
    void operator()(T* it) const { Free(it); }
};
using MatchData = std::unique_ptr<pcre2_match_data, Freed<pcre2_match_data, pcre2_match_data_free>>;
using MatchContext = std::unique_ptr<pcre2_match_context, Freed<pcre2_match_context, pcre2_match_context_free>>;
using JitStack = std::unique_ptr<pcre2_jit_stack, Freed<pcre2_jit_stack, pcre2_jit_stack_free>>;

/// What a match needs for the time that it takes: made once per thread, since it costs more than most matches.
struct Scratch {
    MatchData data{pcre2_match_data_create(1, nullptr)};
    MatchContext context{pcre2_match_context_create(nullptr)};
    JitStack stack{pcre2_jit_stack_create(32 * 1024, 8 * 1024 * 1024, nullptr)};
    Scratch() {
        if (whole()) pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    }
    bool whole() const { return data && context && stack; }
};

const Scratch& scratch_of_thread() {
    thread_local const Scratch scratch;
    return scratch;
}

}  // namespace

Pattern Pattern::literal(std::string text) {
    Pattern pattern;
    pattern.literal_ = std::move(text);
    return pattern;
}

Result<Pattern> Pattern::regex(const std::string& expression) {
    if (expression.find("&&") != std::string::npos) {
        return bad_input("the expression {} intersects classes (&&), which is not supported", expression);
    }
    const std::string translated = as_pcre2(expression);
    int error = 0;
    PCRE2_SIZE place = 0;
    pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                     PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr);
    if (code == nullptr) {
        return bad_input("the expression {} is not understood at its byte {}: {}", expression, place, words_of(error));
    }
    Pattern pattern;
    pattern.code_ = std::shared_ptr<const pcre2_code>(
        code, [](const pcre2_code* it) { pcre2_code_free(const_cast<pcre2_code*>(it)); });
    // Where the processor has no compiler for it, the expression is interpreted.
    pattern.compiled_ = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) == 0;
    return pattern;
}

Result<bool> Pattern::next(std::string_view text, std::size_t from, Range& found) const {
    found.matched = true;
    if (!code_) {
        found.begin = text.find(literal_, from);
        found.end = found.begin + literal_.size();
        return found.begin != std::string_view::npos;
    }
    const Scratch& scratch = scratch_of_thread();
    if (!scratch.whole()) return bad_input("no memory is left for matching a regular expression");
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    while (from < text.size()) {
        // The text is UTF-8 and the options are none: the compiled code can be called without checks.
        const int count = compiled_ ? pcre2_jit_match(code_.get(), subject, text.size(), from, 0, scratch.data.get(),
                                                      scratch.context.get())
                                    : pcre2_match(code_.get(), subject, text.size(), from, PCRE2_NO_UTF_CHECK,
                                                  scratch.data.get(), scratch.context.get());
        if (count == PCRE2_ERROR_NOMATCH) return false;
        if (count < 0) {
            return bad_input("a regular expression of the tokenizer fails on the text at byte {}: {}", from,
                             words_of(count));
        }
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(scratch.data.get());
        found.begin = ends[0];
        found.end = ends[1];
        if (found.end > found.begin) return true;
        // A match of nothing divides nothing.
        from = std::max(from, ends[1]) + 1;
        while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xC0) == 0x80) ++from;
    }
    return false;
}

Result<std::vector<Range>> Pattern::divide(std::string_view text) const {
    std::vector<Range> parts;
    PLIMSOLL_CHECK(each_part(text, [&parts](const Range& part) { parts.push_back(part); }));
    return parts;
}

}  // namespace plimsoll
