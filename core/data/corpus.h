// SPDX-License-Identifier: Apache-2.0
// Text in: a file, a folder or a bundled corpus, as bytes (the byte-level tokenizer's tokens are 0..255); or tokens that
// `plimsoll tokenize` has packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct Corpus {
    std::string text;                      ///< bytes; documents are joined by a newline. Of packed tokens: theirs
    std::size_t documents = 1;             ///< files that hold text
    std::string name;                      ///< of the file, the folder or the bundled corpus
    std::size_t train_size = 0;            ///< of the tokens; those before it train, the rest validates
    int token_width = 1;                   ///< bytes of a token; 1: each byte of the text is one
    std::int64_t vocab_size = 256;         ///< tokens are below it
    std::filesystem::path tokenizer = {};  ///< the tokenizer.json of packed tokens, where it lies beside them

    std::size_t tokens() const { return text.size() / static_cast<std::size_t>(token_width); }
};

/// All the text of a corpus, in bytes, is held in memory by each rank.
inline constexpr Bytes corpus_limit = 4 * GiB;

/// Resolves data.path ("bible-kjv": the bundled corpus; a file; a folder: every .txt, .md and .text file below it in
/// name order, hidden ones and empty ones left out; a FILE.bin with its description FILE.bin.json: packed tokens). Errors name the path, the cause and the cure: missing, unreadable,
/// no text files, empty, binary, over corpus_limit, shorter than one sequence.
///
/// The training part holds at least one sequence and its next token (sequence_length + 1); the validation part, the last
/// data.validation_fraction of the text, does too, or is empty.
Result<Corpus> load_corpus(const Data& data);

/// What can be told of a corpus without reading it: sizes and the first bytes.
struct CorpusBeginning {
    std::string text;            ///< the first bytes, documents joined by a newline. Of packed tokens: their text
    Bytes size = 0;              ///< of the whole text
    std::size_t documents = 1;   ///< files that hold text
    std::string name;            ///< of the file, the folder or the bundled corpus
    std::size_t train_size = 0;  ///< of the whole text, in tokens
    int token_width = 1;         ///< bytes of a token
};

/// The corpus that load_corpus would load, its first bytes alone (at most `most`), with the same errors. Bytes beyond
/// them are not looked at: a file that is binary further on is no error here.
Result<CorpusBeginning> read_corpus_beginning(const Data& data, Bytes most);

/// Error where the model's vocabulary lacks tokens that the packed ones may have.
Result<void> require_vocabulary(const Corpus& corpus, const Plan& plan);

/// Where "bible-kjv" was found, or an error that says which package to install. Searched are the folder
/// $PLIMSOLL_CORPUS (only that, where it is set), ../share/plimsoll/corpus beside the program, and .deps/corpus of the
/// source tree.
Result<std::filesystem::path> bundled_corpus(const std::string& name);

}  // namespace plimsoll
