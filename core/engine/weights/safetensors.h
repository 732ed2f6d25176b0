// SPDX-License-Identifier: Apache-2.0
// The safetensors file format, read strictly and written atomically.
#pragma once

#include <torch/torch.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/checkpoint/safetensors_header.h"

namespace plimsoll::engine {

using NamedTensors = std::vector<std::pair<std::string, torch::Tensor>>;

/// Writer's order is dtype alignment descending, then name; header padded to 8; temp file, fsync, rename. Tensors are
/// written one after the other, so a copy is held of one at most (of none that is contiguous on the CPU).
/// Errors: a name twice or not UTF-8, a dtype the format lacks, and what the disk says; an existing file then stands.
Result<void> write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                               const Metadata& metadata = {});

/// Tensors in the order of the file, on the CPU. Every rule of the format is enforced (no holes, no overlaps, sizes
/// match, no duplicate keys, header within limits), so memory is never more than the file's size and its header's
/// document. The error names the file, the tensor and the rule.
Result<NamedTensors> read_safetensors(const std::filesystem::path& path, Metadata* metadata = nullptr);

/// LibTorch's dtype of a name that a header's reader let through ("BF16").
torch::ScalarType dtype_named(std::string_view name);

}  // namespace plimsoll::engine
