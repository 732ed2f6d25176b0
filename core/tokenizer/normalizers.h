// SPDX-License-Identifier: Apache-2.0
// Steps that change the text before it is divided, as the `tokenizers` library names them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

class Normalizer {
public:
    virtual ~Normalizer() = default;
    /// Valid UTF-8 in and out.
    virtual Result<void> apply(std::string& text) const = 0;
};

/// From the value of "normalizer" in tokenizer.json: NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Prepend,
/// Replace, BertNormalizer, Nmt, Precompiled (SentencePiece's table), ByteLevel, Sequence. Null where it is null.
Result<std::unique_ptr<Normalizer>> normalizer_from(const Json& json);

}  // namespace plimsoll
