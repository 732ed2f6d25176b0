// SPDX-License-Identifier: Apache-2.0
// Text in: a file, a folder or a bundled corpus, as bytes (the byte-level tokenizer's tokens are 0..255).
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct Corpus {
    std::string text;                  ///< bytes; documents are joined by a newline
    std::size_t documents = 1;
    std::string name;
    std::size_t train_size = 0;        ///< text[0, train_size) trains, the rest validates
};

/// Resolves data.path ("bible-kjv": the bundled corpus; a file; a folder: every .txt, .md and .text file below it in
/// name order). Errors name the path, the cause and the cure: unreadable, empty, binary, shorter than one sequence.
Result<Corpus> load_corpus(const Data& data);

/// Where "bible-kjv" was found, or an error that says which package to install.
Result<std::filesystem::path> bundled_corpus(const std::string& name);

/// Order in which training sequences are visited: a seeded permutation a epoch over non-overlapping windows; the same
/// for every world size, so that rank r of n takes entries r, r + n, … of each global batch.
class SampleOrder {
public:
    SampleOrder(std::size_t train_size, std::int64_t sequence_length, std::uint64_t seed);
    std::size_t samples_per_epoch() const { return samples_; }
    /// Byte offset of the global sample number `index` (epochs follow one another).
    std::size_t offset(std::uint64_t index) const;

private:
    std::size_t samples_ = 0;
    std::int64_t sequence_length_ = 0;
    std::uint64_t seed_ = 0;
    mutable std::uint64_t epoch_ = ~std::uint64_t{0};
    mutable std::vector<std::uint32_t> order_;
};

}  // namespace plimsoll
