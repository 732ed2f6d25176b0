// SPDX-License-Identifier: Apache-2.0
// What divides or replaces text: a regular expression or a plain string.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

struct pcre2_real_code_8;

namespace plimsoll {

struct Range {
    std::size_t begin = 0, end = 0;
    bool matched = false;
};

class Pattern {
public:
    /// A plain string, not empty.
    static Pattern literal(std::string text);
    /// A regular expression of the `tokenizers` library (Oniguruma's syntax), executed by PCRE2 with Unicode's classes.
    /// Error: with the place of what is not understood.
    static Result<Pattern> regex(const std::string& expression);

    /// Calls `part` with each part of the text that matches or does not, in order, without gaps. Valid UTF-8 is needed. An
    /// error where the expression needs more steps or memory than PCRE2 grants.
    template <class Part>
    Result<void> each_part(std::string_view text, Part&& part) const {
        std::size_t done = 0;
        Range found;
        while (done < text.size()) {
            PLIMSOLL_TRY(const bool more, next(text, done, found));
            if (!more) break;
            if (found.begin > done) part(Range{done, found.begin, false});
            part(found);
            done = found.end;
        }
        if (done < text.size()) part(Range{done, text.size(), false});
        return {};
    }
    /// All of these parts.
    Result<std::vector<Range>> divide(std::string_view text) const;

private:
    /// The first match of some length that begins at `from` or later; false where there is none.
    Result<bool> next(std::string_view text, std::size_t from, Range& found) const;

    std::string literal_;
    std::shared_ptr<const pcre2_real_code_8> code_;
    bool compiled_ = false;  ///< to machine code
};

}  // namespace plimsoll
