// SPDX-License-Identifier: Apache-2.0
// The keys of a GGUF file's metadata: the one list of what becomes of each.
#pragma once

#include <span>
#include <string>

#include "core/interop/model_files/gguf.h"
#include "core/plan/hugging_face/file_keys.h"
#include "core/plan/model.h"

namespace plimsoll {

/// Names of ggml's docs/gguf.md and llama.cpp's llama-arch.cpp, each once. "arch." stands for the architecture
/// ("llama."), a name that ends with "*" for all that begin so.
std::span<const FileKey> gguf_keys();

/// What the file's keys and its tables of rotary frequencies ask for beside what `model`, which was read from the file,
/// says. A key that is not in gguf_keys() is told by name.
KeyFindings judge_gguf(const GgufFile& file, const std::string& architecture, const Model& model);

}  // namespace plimsoll
