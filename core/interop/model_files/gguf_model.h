// SPDX-License-Identifier: Apache-2.0
// The model that a GGUF file holds, as a model that can be planned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/interop/model_files/gguf.h"
#include "core/plan/model.h"

namespace plimsoll {

struct GgufModel {
    Model model;
    /// Elements of all tensors; rotary constants, and a second copy of GPT-2's embedding, do not count.
    std::int64_t parameters = 0;
    Json config;  ///< the model as a config.json, with what is not computed here
    /// How `parameters` compares with the model's count, and which keys ask for what is not computed (gguf_keys.h).
    std::vector<std::string> notes;
};

/// Architectures llama (with experts: Mixtral), mistral, mixtral, qwen2 and gpt2. The vocabulary is the embedding's
/// rows, which may be more than the tokenizer's tokens. Error where a key is missing or wrong, or the tensors do not
/// suit the metadata. `what` names the file.
Result<GgufModel> model_from_gguf(const GgufFile& file, const std::string& what);

}  // namespace plimsoll
