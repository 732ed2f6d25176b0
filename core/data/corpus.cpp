// SPDX-License-Identifier: Apache-2.0
#include "core/data/corpus.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>

#include "core/base/file.h"
#include "core/base/nearest.h"
#include "core/data/token_file.h"
#include "core/tokenizer/tokenizer.h"

namespace plimsoll {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view bible = "bible-kjv";
constexpr std::array<std::string_view, 3> text_endings{".txt", ".md", ".text"};

bool hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool is_text_file(const fs::directory_entry& entry) {
    std::error_code ignored;
    const auto ending = std::ranges::find(text_endings, entry.path().extension().string());
    // A broken link or a pipe is not left out: reading it says what is wrong.
    return ending != text_endings.end() && !hidden(entry.path()) && !entry.is_directory(ignored);
}

Result<std::vector<fs::path>> text_files(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::recursive_directory_iterator it(folder, error);
    for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
        std::error_code ignored;
        if (it->is_directory(ignored) && hidden(it->path())) it.disable_recursion_pending();
        if (is_text_file(*it)) files.push_back(it->path());
    }
    if (error) {
        return bad_input("the folder {} (data.path) cannot be read: {}; make it and the folders in it readable",
                         folder.string(), error.message());
    }
    if (files.empty()) {
        return bad_input(
            "the folder {} (data.path) holds no .txt, .md or .text file; put the training text there as "
            "such files, or name one file",
            folder.string());
    }
    std::ranges::sort(files);
    return files;
}

tl::unexpected<Error> too_large(const fs::path& path) {
    return bad_input(
        "{} (data.path) holds more than {} of text, the most that a run keeps in memory; give a part of it",
        path.string(), format_bytes(corpus_limit));
}

Result<void> require_text(const std::string& text, const fs::path& path) {
    if (const auto nul = text.find('\0'); nul != std::string::npos) {
        return bad_input(
            "{} is not text: byte {} is NUL; give plain text (UTF-16 has to be saved as UTF-8), or tokens that "
            "plimsoll tokenize -o has packed",
            path.string(), format_count(static_cast<std::int64_t>(nul)));
    }
    return {};
}

tl::unexpected<Error> unreadable(const Error& error) {
    return bad_input("{}; data.path has to name text that can be read", error.message);
}

/// The file's text; what the byte-level tokenizer should not learn from is an error.
Result<std::string> read_text(const fs::path& path, Bytes room) {
    std::error_code ignored;
    const auto size = fs::file_size(path, ignored);
    if (!ignored && size > static_cast<std::uintmax_t>(room)) return too_large(path);
    auto text = read_file(path, room);
    if (!text) return unreadable(text.error());
    PLIMSOLL_CHECK(require_text(*text, path));
    return text;
}

/// Packed tokens, all of them looked at.
Result<Corpus> read_packed(const fs::path& path) {
    PLIMSOLL_TRY(const TokenFile file, read_token_file(path));
    if (file.tokens * file.width > corpus_limit) return too_large(path);
    Corpus corpus;
    PLIMSOLL_TRY(corpus.text, read_file(path, corpus_limit));
    PLIMSOLL_CHECK(require_tokens(corpus.text, file, path));
    corpus.documents = static_cast<std::size_t>(file.documents);
    corpus.token_width = file.width;
    corpus.vocab_size = file.vocab_size;
    corpus.tokenizer = file.tokenizer;
    return corpus;
}

/// Their size, and the text of the first ones where their tokenizer can be read.
Result<CorpusBeginning> read_packed_beginning(const fs::path& path, Bytes most) {
    PLIMSOLL_TRY(const TokenFile file, read_token_file(path));
    if (file.tokens * file.width > corpus_limit) return too_large(path);
    CorpusBeginning corpus;
    corpus.size = file.tokens * file.width;
    corpus.documents = static_cast<std::size_t>(file.documents);
    corpus.token_width = file.width;
    if (most <= 0 || file.tokenizer.empty()) return corpus;
    const auto tokenizer = Tokenizer::load(file.tokenizer);
    PLIMSOLL_TRY(const auto beginning, read_beginning(path, most));
    if (!tokenizer) return corpus;
    std::vector<TokenId> ids;
    for (std::size_t at = 0; at < beginning.text.size() / static_cast<std::size_t>(file.width); ++at) {
        ids.push_back(static_cast<TokenId>(token_at(beginning.text, file.width, at)));
    }
    corpus.text = tokenizer->decode(ids, false).value_or("");
    return corpus;
}

Result<Corpus> read_documents(const std::vector<fs::path>& files, const fs::path& root) {
    if (files.size() == 1 && is_token_file(files[0])) return read_packed(files[0]);
    Corpus corpus;
    corpus.documents = 0;
    for (const fs::path& file : files) {
        const Bytes room = corpus_limit - static_cast<Bytes>(corpus.text.size());
        if (room <= 0) return too_large(root);
        PLIMSOLL_TRY(auto text, read_text(file, room));
        if (text.empty()) continue;
        if (corpus.documents > 0) corpus.text += '\n';
        if (corpus.text.empty()) {
            corpus.text = std::move(text);
        } else {
            corpus.text += text;
        }
        ++corpus.documents;
    }
    return corpus;
}

/// Every file is opened, and no more of it read than `most` still asks for.
Result<CorpusBeginning> read_beginnings(const std::vector<fs::path>& files, const fs::path& root, Bytes most) {
    if (files.size() == 1 && is_token_file(files[0])) return read_packed_beginning(files[0], most);
    CorpusBeginning corpus;
    corpus.documents = 0;
    for (const fs::path& file : files) {
        if (corpus.size >= corpus_limit) return too_large(root);
        const Bytes wanted = std::max<Bytes>(0, most - static_cast<Bytes>(corpus.text.size()));
        const auto beginning = read_beginning(file, wanted);
        if (!beginning) return unreadable(beginning.error());
        if (beginning->size > corpus_limit - corpus.size) return too_large(file);
        PLIMSOLL_CHECK(require_text(beginning->text, file));
        if (beginning->size == 0) continue;
        if (corpus.documents > 0) {
            corpus.text += '\n';
            ++corpus.size;
        }
        corpus.text += beginning->text;
        corpus.size += beginning->size;
        ++corpus.documents;
    }
    corpus.text.resize(std::min(corpus.text.size(), static_cast<std::size_t>(std::max<Bytes>(0, most))));
    return corpus;
}

/// The file, or the folder's text files.
Result<std::vector<fs::path>> files_of(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found) {
        return bad_input("there is no {} (data.path); give a text file, a folder of text files, or \"{}\"",
                         path.string(), bible);
    }
    if (error) return bad_input("{} (data.path) cannot be read: {}", path.string(), error.message());
    if (!fs::is_directory(status)) return std::vector{path};
    return text_files(path);
}

/// How much of `size` bytes trains. Either part holds at least one window, or there is no validation part.
Result<std::size_t> train_size_of(std::size_t size, int token_width, const Data& data) {
    const char* unit = token_width == 1 ? "byte" : "token";
    const auto window = static_cast<std::size_t>(data.sequence_length) + 1;
    if (size == 0) return bad_input("{} (data.path) is empty; give text to learn from", data.path);
    if (size < window) {
        return bad_input(
            "{} (data.path) holds {} {}s, but a sequence takes {} (data.sequence_length and the {} after it); give a "
            "longer text or set data.sequence_length to {} or less",
            data.path, format_count(static_cast<std::int64_t>(size)), unit,
            format_count(static_cast<std::int64_t>(window)), unit, format_count(static_cast<std::int64_t>(size) - 1));
    }
    const double fraction = std::clamp(data.validation_fraction, 0.0, 1.0);
    const auto validation = static_cast<std::size_t>(static_cast<double>(size) * fraction);
    const bool both = validation >= window && size - validation >= window;
    return both ? size - validation : size;
}

fs::path beside_program() {
    std::error_code ignored;
    return fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "share/plimsoll/corpus";
}

}  // namespace

Result<fs::path> bundled_corpus(const std::string& name) {
    if (name != bible) {
        return bad_input("there is no bundled corpus \"{}\"{}; known: \"{}\"", name,
                         did_you_mean(name, {std::string(bible)}), bible);
    }
    const std::string file = name + ".txt";
    std::error_code ignored;
    if (const char* folder = std::getenv("PLIMSOLL_CORPUS"); folder != nullptr && *folder != '\0') {
        if (fs::is_regular_file(fs::path(folder) / file, ignored)) return fs::path(folder) / file;
        return bad_input("PLIMSOLL_CORPUS is set to {}, which holds no {}; correct it or unset it", folder, file);
    }
    for (const fs::path& folder : {beside_program(), fs::path(PLIMSOLL_SOURCE_CORPUS)}) {
        if (fs::is_regular_file(folder / file, ignored)) return folder / file;
    }
    return bad_input(
        "the bundled corpus \"{}\" is not installed: run packaging/corpus in the source tree (it needs Debian's "
        "bible-kjv and bible-kjv-text), or set data.path to a text file",
        name);
}

namespace {

/// Resolves data.path, reads with `read(files, path)`, which gives a Corpus or a CorpusBeginning, and fills in the
/// name and the parts. `size_of` is of what was read.
template <class Read, class SizeOf>
auto corpus_of(const Data& data, const Read& read, const SizeOf& size_of)
    -> decltype(read(std::vector<fs::path>(), fs::path())) {
    if (data.path.empty())
        return bad_input("data.path is empty; give a text file, a folder of text files, or \"{}\"", bible);
    if (data.sequence_length < 1)
        return bad_input("data.sequence_length is {}; it has to be 1 or more", data.sequence_length);
    try {
        const bool bundled = data.path == bible;
        const Result<fs::path> path = bundled ? bundled_corpus(data.path) : Result<fs::path>(data.path);
        if (!path) return tl::unexpected(path.error());
        PLIMSOLL_TRY(const auto files, files_of(*path));
        auto corpus = read(files, *path);
        if (!corpus) return corpus;
        // "folder/" has an empty file name
        const fs::path named = path->has_filename() ? *path : path->parent_path();
        corpus->name = bundled ? data.path : named.filename().string();
        const std::size_t tokens = size_of(*corpus) / static_cast<std::size_t>(corpus->token_width);
        PLIMSOLL_TRY(corpus->train_size, train_size_of(tokens, corpus->token_width, data));
        return corpus;
    } catch (const std::bad_alloc&) {
        return bad_input("{} (data.path) does not fit into memory; give a part of it", data.path);
    } catch (const fs::filesystem_error& error) {
        return bad_input("{} (data.path) cannot be read: {}", data.path, error.code().message());
    }
}

}  // namespace

Result<Corpus> load_corpus(const Data& data) {
    return corpus_of(data, read_documents, [](const Corpus& corpus) { return corpus.text.size(); });
}

Result<CorpusBeginning> read_corpus_beginning(const Data& data, Bytes most) {
    return corpus_of(
        data,
        [most](const std::vector<fs::path>& files, const fs::path& root) { return read_beginnings(files, root, most); },
        [](const CorpusBeginning& corpus) { return static_cast<std::size_t>(corpus.size); });
}

Result<void> require_vocabulary(const Corpus& corpus, const Plan& plan) {
    if (corpus.token_width == 1 || corpus.vocab_size <= plan.model.vocab_size) return {};
    return bad_input(
        "{} (data.path) holds tokens of a vocabulary of {}, and the model has {} (model.vocab_size); set model.vocab_size to "
        "{}, or tokenize the text with the model's own tokenizer",
        plan.data.path, format_count(corpus.vocab_size), format_count(plan.model.vocab_size), corpus.vocab_size);
}

}  // namespace plimsoll
