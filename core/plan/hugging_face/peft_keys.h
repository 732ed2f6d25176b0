// SPDX-License-Identifier: Apache-2.0
// The keys of PEFT's adapter_config.json of a LoRA adapter: the one list of what becomes of each.
#pragma once

#include <span>

#include "core/plan/hugging_face/file_keys.h"

namespace plimsoll {

/// Every key of PeftConfig and LoraConfig of PEFT 0.6 to 0.21 (peft/tuners/lora/config.py), each once. A judged key that
/// asks for something, and a key that is not here, are refused: adapters are read for their weights alone.
std::span<const FileKey> peft_keys();

}  // namespace plimsoll
