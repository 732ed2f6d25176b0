// SPDX-License-Identifier: Apache-2.0
// Steps that turn tokens into text again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace plimsoll {

class Decoder {
public:
    virtual ~Decoder() = default;
    /// The tokens' parts of the text, to be joined.
    virtual Result<std::vector<std::string>> apply(std::vector<std::string> tokens) const = 0;
};

/// From "decoder" of tokenizer.json: ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace, WordPiece, BPEDecoder,
/// Sequence. Null where it is null.
Result<std::unique_ptr<Decoder>> decoder_from(const Json& json);

}  // namespace plimsoll
