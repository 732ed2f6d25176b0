// SPDX-License-Identifier: Apache-2.0
// Whether the weights of two folders are the same.
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/base/result.h"

namespace plimsoll {

/// A hash (never 0) of the names and of every byte of the .safetensors files in the folder, or of all files below it
/// where there is none.
Result<std::uint64_t> weights_fingerprint(const std::filesystem::path& folder);

}  // namespace plimsoll
