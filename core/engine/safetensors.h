// SPDX-License-Identifier: Apache-2.0
// The safetensors file format, read strictly and written atomically.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace plimsoll::engine {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writer's order is dtype alignment descending, then name; header padded to 8; temp file, fsync, rename.
Result<void> write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                               const std::map<std::string, std::string>& metadata = {});
/// Every rule of the format is enforced (no holes, no overlaps, sizes match, no duplicate keys, header within limits).
Result<NamedTensors> read_safetensors(const std::filesystem::path& path);

}  // namespace plimsoll::engine
