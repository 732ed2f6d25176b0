// SPDX-License-Identifier: Apache-2.0
// Where the parts of the estimate put what they count: terms with their words, or sums alone.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/estimate/count.h"
#include "core/estimate/estimate.h"

namespace plimsoll {

struct Words {
    std::string name, formula, source;
};

/// Each term is counted once and in one place; its words are put together only for a sink that shows them. A search
/// over layouts asks for sums a million times a second.
class TermSink {
public:
    /// Null: sums only.
    explicit TermSink(std::vector<Term>* terms) : terms_(terms) {}

    /// `words` is a function that gives Words.
    template <class WordsOf>
    void add(const char* key, Category category, Count bytes, WordsOf&& words) {
        sums_[static_cast<std::size_t>(category)] += bytes;
        if (terms_ == nullptr) return;
        Words own = words();
        terms_->push_back(
            {key, std::move(own.name), category, bytes.value(), std::move(own.formula), std::move(own.source)});
    }

    Count of(Category category) const { return sums_[static_cast<std::size_t>(category)]; }
    Count total() const {
        Count sum;
        for (const Count part : sums_) sum += part;
        return sum;
    }

private:
    std::vector<Term>* terms_;
    std::array<Count, 6> sums_{};
};

}  // namespace plimsoll
