// SPDX-License-Identifier: Apache-2.0
// Tokens that stand around every text: "[CLS] … [SEP]".
#pragma once

#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/tokenizer/tokenizer_model.h"

namespace plimsoll {

struct PostProcessor {
    std::vector<TokenId> before, behind;
};

/// From "post_processor" of tokenizer.json: TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel (nothing),
/// Sequence. Of a template the one for a single text counts.
Result<PostProcessor> post_processor_from(const Json& json);

}  // namespace plimsoll
