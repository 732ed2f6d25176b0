// SPDX-License-Identifier: Apache-2.0
// Import of a Hugging Face config.json.
#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "core/plan/model.h"

namespace plimsoll {

/// gpt2, llama, mistral, mixtral and qwen2 by their own key names and defaults. The error names the key that is
/// missing or wrong, or the model_type that is not known with the list of those that are. What changes neither sizes
/// nor memory is passed over: rope_scaling and sliding_window (training here starts from scratch, with full attention),
/// and which of the GELU forms is meant (the tanh form is used).
Result<Model> model_from_hf_config(const Json& config, const std::string& what);
Result<Model> import_hf_config(const std::filesystem::path& path);

}  // namespace plimsoll
