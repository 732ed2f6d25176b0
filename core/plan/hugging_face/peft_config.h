// SPDX-License-Identifier: Apache-2.0
// PEFT's adapter_config.json of a LoRA adapter, both ways.
#pragma once

#include <filesystem>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/plan.h"

namespace plimsoll {

inline constexpr const char* adapter_file = "adapter_model.safetensors";
inline constexpr const char* adapter_config_file = "adapter_config.json";

/// What PeftModel.from_pretrained reads beside adapter_model.safetensors (peft/tuners/lora/config.py). The base model
/// is plan.model.weights. The plan has adapters. Keys of the adapter that the plan starts from come back (kept_keys.h).
Json peft_config(const Plan& plan);

struct PeftAdapter {
    Adapter adapter;       ///< without its folder
    std::string base;      ///< base_model_name_or_path: a folder or a name on the hub; empty: not said
    Json config;           ///< the document
    KeyFindings findings;  ///< settings of the training that a plan does not take over, such as lora_dropout
};

/// Error for what a Plan's adapters do not do, by its key: other kinds than LoRA, DoRA, trained biases or whole
/// modules, ranks or scales of their own for some layers, a pattern in place of names, and a key that is not known
/// (core/plan/hugging_face/peft_keys.h).
Result<PeftAdapter> adapter_from_peft(const Json& config, const std::string& what);

/// Of the adapter_config.json in a folder.
Result<PeftAdapter> read_peft_adapter(const std::filesystem::path& folder);

/// Error where adapter_config.json in the folder has another rank or scale than the plan's adapters.
Result<void> require_same_adapter(const std::filesystem::path& folder, const Plan& plan);

}  // namespace plimsoll
