// SPDX-License-Identifier: Apache-2.0
// Meta's params.json, which lies beside consolidated.*.pth of LLaMA and Mistral.
#pragma once

#include "core/base/json.h"

namespace plimsoll {

/// An object with dim, n_layers and n_heads, and without a model_type.
bool is_meta_params(const Json& document);

/// The same model as a config.json: by the rules of ModelArgs and FeedForward of llama/model.py (Meta's repositories
/// llama and llama3). hidden_dim says that the file is Mistral's (mistral_inference/args.py). Keys that it does not
/// know stay as they are. The longest sequence is not in the file.
Json config_of_meta_params(const Json& params);

}  // namespace plimsoll
