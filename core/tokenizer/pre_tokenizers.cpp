// SPDX-License-Identifier: Apache-2.0
#include "core/tokenizer/pre_tokenizers.h"

#include <algorithm>

#include "core/base/json.h"
#include "core/tokenizer/byte_level.h"
#include "core/tokenizer/pattern.h"
#include "core/tokenizer/step_json.h"
#include "core/tokenizer/unicode.h"

namespace plimsoll {

namespace {

/// What becomes of the parts that match.
enum class Behaviour : std::uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

Result<Behaviour> behaviour_of(const Json& json, Behaviour missing) {
    const std::string name = text_at(json, "behavior");
    if (name.empty()) return missing;
    if (name == "Removed") return Behaviour::Removed;
    if (name == "Isolated") return Behaviour::Isolated;
    if (name == "MergedWithPrevious") return Behaviour::MergedWithPrevious;
    if (name == "MergedWithNext") return Behaviour::MergedWithNext;
    if (name == "Contiguous") return Behaviour::Contiguous;
    return bad_input("the behavior {} of the step {} is not known", name, type_of(json));
}

/// The parts that remain, as the `tokenizers` library joins them (NormalizedString::split).
std::vector<Range> joined(std::vector<Range> parts, Behaviour behaviour) {
    std::vector<Range> out;
    bool before = false;  // whether the part before it matched
    const auto extend = [&](const Range& part, bool join, auto&& grow) {
        if (join && !out.empty()) {
            grow(out.back(), part);
        } else {
            out.push_back(part);
        }
        before = part.matched;
    };
    const auto to_the_end = [](Range& last, const Range& part) { last.end = part.end; };
    switch (behaviour) {
        case Behaviour::Isolated:
            return parts;
        case Behaviour::Removed:
            std::erase_if(parts, [](const Range& part) { return part.matched; });
            return parts;
        case Behaviour::Contiguous:
            for (const Range& part : parts) extend(part, part.matched == before, to_the_end);
            return out;
        case Behaviour::MergedWithPrevious:
            for (const Range& part : parts) extend(part, part.matched && !before, to_the_end);
            return out;
        case Behaviour::MergedWithNext:
            std::ranges::reverse(parts);
            for (const Range& part : parts) {
                extend(part, part.matched && !before, [](Range& last, const Range& p) { last.begin = p.begin; });
            }
            std::ranges::reverse(out);
            return out;
    }
    return parts;
}

/// Each piece by what `divide` says of it.
template <class Divide>
Result<void> split_each(Pieces& pieces, Behaviour behaviour, Divide&& divide) {
    std::vector<Piece> out;
    out.reserve(pieces.list.size() * 2);
    for (const Piece& piece : pieces.list) {
        PLIMSOLL_TRY(auto parts, divide(piece.text));
        for (const Range& part : joined(std::move(parts), behaviour)) {
            if (part.end == part.begin) continue;
            out.push_back({piece.text.substr(part.begin, part.end - part.begin), piece.first && part.begin == 0});
        }
    }
    pieces.list = std::move(out);
    return {};
}

/// Characters for which `matches` holds, each by itself.
std::vector<Range> divide_by(std::string_view text, bool (*matches)(char32_t)) {
    std::vector<Range> parts;
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character c = character_at(text, at);
        if (matches(c.code)) {
            if (at > done) parts.push_back({done, at, false});
            parts.push_back({at, at + c.bytes, true});
            done = at + c.bytes;
        }
        at += c.bytes;
    }
    if (done < text.size()) parts.push_back({done, text.size(), false});
    return parts;
}

class ByCharacter final : public PreTokenizer {
public:
    ByCharacter(bool (*matches)(char32_t), Behaviour behaviour) : matches_(matches), behaviour_(behaviour) {}
    Result<void> split(Pieces& pieces) const override {
        return split_each(pieces, behaviour_, [this](std::string_view text) -> Result<std::vector<Range>> {
            return divide_by(text, matches_);
        });
    }

private:
    bool (*matches_)(char32_t);
    Behaviour behaviour_;
};

class ByPattern final : public PreTokenizer {
public:
    ByPattern(Pattern pattern, Behaviour behaviour, bool invert)
        : pattern_(std::move(pattern)), behaviour_(behaviour), invert_(invert) {}
    Result<void> split(Pieces& pieces) const override {
        // The usual behaviours join nothing: the parts need not be held.
        if (behaviour_ == Behaviour::Isolated || behaviour_ == Behaviour::Removed) return split_at_once(pieces);
        return split_each(pieces, behaviour_, [this](std::string_view text) -> Result<std::vector<Range>> {
            PLIMSOLL_TRY(auto parts, pattern_.divide(text));
            for (Range& part : parts) part.matched = part.matched != invert_;
            return parts;
        });
    }

private:
    Result<void> split_at_once(Pieces& pieces) const {
        std::vector<Piece> out;
        out.reserve(pieces.list.size() * 2);
        for (const Piece& piece : pieces.list) {
            PLIMSOLL_CHECK(pattern_.each_part(piece.text, [&](const Range& part) {
                if (behaviour_ == Behaviour::Removed && part.matched != invert_) return;
                out.push_back({piece.text.substr(part.begin, part.end - part.begin), piece.first && part.begin == 0});
            }));
        }
        pieces.list = std::move(out);
        return {};
    }

    Pattern pattern_;
    Behaviour behaviour_;
    bool invert_;
};

/// GPT-2's words (Radford 2019, encoder.py).
constexpr const char* gpt2_words = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class ByteLevel final : public PreTokenizer {
public:
    ByteLevel(bool add_prefix_space, std::unique_ptr<PreTokenizer> words)
        : add_prefix_space_(add_prefix_space), words_(std::move(words)) {}
    Result<void> split(Pieces& pieces) const override {
        if (add_prefix_space_) {
            for (Piece& piece : pieces.list) {
                if (piece.text.starts_with(' ')) continue;
                piece.text = pieces.made.emplace_back(" " + std::string(piece.text));
            }
        }
        return words_ ? words_->split(pieces) : Result<void>();
    }
    bool leaves_bytes() const override { return true; }

private:
    bool add_prefix_space_;
    std::unique_ptr<PreTokenizer> words_;
};

class Metaspace final : public PreTokenizer {
public:
    enum class Prepend : std::uint8_t { Always, First, Never };
    Metaspace(std::string replacement, Prepend prepend, bool split)
        : replacement_(std::move(replacement)),
          prepend_(prepend),
          split_(split),
          mark_(Pattern::literal(replacement_)) {}

    Result<void> split(Pieces& pieces) const override {
        for (Piece& piece : pieces.list) {
            std::string text;
            text.reserve(piece.text.size() * 2);
            for (const char c : piece.text) c == ' ' ? text.append(replacement_) : text.append(1, c);
            const bool wanted = prepend_ == Prepend::Always || (prepend_ == Prepend::First && piece.first);
            if (wanted && !text.starts_with(replacement_)) text.insert(0, replacement_);
            piece.text = pieces.made.emplace_back(std::move(text));
        }
        if (!split_) return {};
        return split_each(pieces, Behaviour::MergedWithNext,
                          [this](std::string_view text) { return mark_.divide(text); });
    }

private:
    std::string replacement_;
    Prepend prepend_;
    bool split_;
    Pattern mark_;
};

class PreTokenizerSteps final : public PreTokenizer {
public:
    explicit PreTokenizerSteps(std::vector<std::unique_ptr<PreTokenizer>> steps) : steps_(std::move(steps)) {}
    Result<void> split(Pieces& pieces) const override {
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            PLIMSOLL_CHECK(steps_[i]->split(pieces));
            // The steps after it see the characters; after the last one the model takes the bytes themselves.
            if (!steps_[i]->leaves_bytes() || i + 1 == steps_.size()) continue;
            for (Piece& piece : pieces.list) piece.text = pieces.made.emplace_back(byte_characters(piece.text));
        }
        return {};
    }
    bool leaves_bytes() const override { return !steps_.empty() && steps_.back()->leaves_bytes(); }

private:
    std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

std::unique_ptr<PreTokenizer> by_character(bool (*matches)(char32_t), Behaviour behaviour) {
    return std::make_unique<ByCharacter>(matches, behaviour);
}

Result<std::unique_ptr<PreTokenizer>> by_regex(const std::string& expression, Behaviour behaviour, bool invert) {
    PLIMSOLL_TRY(auto pattern, Pattern::regex(expression));
    return std::make_unique<ByPattern>(std::move(pattern), behaviour, invert);
}

Result<std::unique_ptr<PreTokenizer>> pre_tokenizers_from(const Json& json) {
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    for (const Json& each : list_at(json, "pretokenizers")) {
        PLIMSOLL_TRY(auto step, pre_tokenizer_from(each));
        if (step) steps.push_back(std::move(step));
    }
    return std::make_unique<PreTokenizerSteps>(std::move(steps));
}

Result<std::unique_ptr<PreTokenizer>> metaspace_splitter_from(const Json& json) {
    const std::string replacement = text_at(json, "replacement", "\xE2\x96\x81");
    // Files before 0.14 say add_prefix_space.
    const bool legacy = flag_at(json, "add_prefix_space", true);
    const std::string scheme = text_at(json, "prepend_scheme", legacy ? "always" : "never");
    if (replacement.empty() || (scheme != "always" && scheme != "first" && scheme != "never")) {
        return bad_input("the step {} is not understood: prepend_scheme is always, first or never", shown(json));
    }
    const auto prepend = scheme == "always"  ? Metaspace::Prepend::Always
                         : scheme == "first" ? Metaspace::Prepend::First
                                             : Metaspace::Prepend::Never;
    return std::make_unique<Metaspace>(replacement, prepend, flag_at(json, "split", true));
}

Result<std::unique_ptr<PreTokenizer>> bert() {
    std::vector<std::unique_ptr<PreTokenizer>> steps;
    steps.push_back(by_character(is_space, Behaviour::Removed));
    steps.push_back(by_character(
        [](char32_t c) {
            const bool ascii =
                (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
            return ascii || is_punctuation(c);
        },
        Behaviour::Isolated));
    return std::make_unique<PreTokenizerSteps>(std::move(steps));
}

}  // namespace

Result<std::unique_ptr<PreTokenizer>> pre_tokenizer_from(const Json& json) {
    if (json.is_null()) return std::unique_ptr<PreTokenizer>();
    const std::string type = type_of(json);
    if (type == "Sequence") return pre_tokenizers_from(json);
    if (type == "Metaspace") return metaspace_splitter_from(json);
    if (type == "BertPreTokenizer") return bert();
    if (type == "WhitespaceSplit") return by_character(is_space, Behaviour::Removed);
    if (type == "Whitespace")
        return by_regex(R"([\w\x{200c}\x{200d}]+|[^\w\s\x{200c}\x{200d}]+)", Behaviour::Removed, true);
    if (type == "Digits") {
        return by_character(is_numeric,
                            flag_at(json, "individual_digits", false) ? Behaviour::Isolated : Behaviour::Contiguous);
    }
    if (type == "ByteLevel") {
        std::unique_ptr<PreTokenizer> words;
        if (flag_at(json, "use_regex", true)) {
            PLIMSOLL_TRY(words, by_regex(gpt2_words, Behaviour::Isolated, false));
        }
        return std::make_unique<ByteLevel>(flag_at(json, "add_prefix_space", true), std::move(words));
    }
    if (type == "Split") {
        PLIMSOLL_TRY(auto pattern, pattern_at(json, "pattern"));
        PLIMSOLL_TRY(const auto behaviour, behaviour_of(json, Behaviour::Isolated));
        return std::make_unique<ByPattern>(std::move(pattern), behaviour, flag_at(json, "invert", false));
    }
    if (type == "Punctuation") {
        PLIMSOLL_TRY(const auto behaviour, behaviour_of(json, Behaviour::Isolated));
        const auto matches = [](char32_t c) {
            const bool ascii =
                (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
            return ascii || is_punctuation(c);
        };
        return by_character(matches, behaviour);
    }
    if (type == "CharDelimiterSplit") {
        const std::string delimiter = text_at(json, "delimiter");
        if (delimiter.empty()) return bad_input("the step CharDelimiterSplit has no delimiter");
        return std::make_unique<ByPattern>(Pattern::literal(delimiter), Behaviour::Removed, false);
    }
    return bad_input("the pre-tokenizer {} is not known", shown(json));
}

}  // namespace plimsoll
