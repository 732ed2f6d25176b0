// SPDX-License-Identifier: Apache-2.0
// Import of a Hugging Face config.json.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json.h"
#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/model.h"

namespace plimsoll {

struct ImportedModel {
    Model model;
    Json config;                      ///< the document
    std::vector<std::string> unsaid;  ///< fields of the model that such a file never says, which have their defaults
    KeyFindings findings;             ///< what the document asks for that the model does not say; none is Refused

    /// Sentences of the findings for a person, and what follows from them.
    std::vector<std::string> notes() const;
};

/// gpt2, llama, mistral, mixtral and qwen2 by their own key names and defaults, the config.json of our own
/// checkpoints, and Meta's params.json (meta_params.h). Every key is understood, harmless, kept for an export, or found (core/plan/hugging_face/config_keys.h).
/// The error names the key that is missing or wrong or makes another model, or the model_type that is not known with
/// the list of those that are.
Result<ImportedModel> model_of_config(const Json& config, const std::string& what);
Result<ImportedModel> import_hf_config(const std::filesystem::path& path);

/// The model alone.
Result<Model> model_from_hf_config(const Json& config, const std::string& what);

/// " (did you mean \"llama\"?)" for a slip of the pen; "" for what may be another family, which would load wrongly.
std::string family_hint(std::string_view given, const std::vector<std::string>& known);

}  // namespace plimsoll
