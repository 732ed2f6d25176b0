// SPDX-License-Identifier: Apache-2.0
// Whether two ranks, or a run and its resumption, train on the same sequences.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct Corpus;

struct DataFingerprint {
    Bytes bytes = 0;          ///< of the text; 0: not known
    std::uint64_t text = 0;   ///< XXH64 of every byte
    std::uint64_t order = 0;  ///< of how many sequences there are and of where the first ones of the order lie

    bool known() const { return bytes > 0; }
    bool operator==(const DataFingerprint&) const = default;
};

/// Reads every byte of the text.
DataFingerprint fingerprint_of(const Corpus& corpus, const Plan& plan);

/// "8,192 bytes with the hash 0123456789abcdef".
std::string words_of(const DataFingerprint& data);

/// Error where a run that was trained on `then` would go on with other text (at `path`), or in another order of it.
/// `checkpoint`: that a new run could start from.
Result<void> require_trained_on(const DataFingerprint& then, const DataFingerprint& now, const std::string& path,
                                const std::string& checkpoint);

}  // namespace plimsoll
