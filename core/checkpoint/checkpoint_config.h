// SPDX-License-Identifier: Apache-2.0
// config.json, or Meta's params.json, beside weights.
#pragma once

#include <filesystem>

namespace plimsoll {

/// config.json, or without it params.json, in the folder of a checkpoint, beside its files, or where the folder's pointers lead (find_checkpoint);
/// empty where there is none.
std::filesystem::path checkpoint_config(const std::filesystem::path& file_or_folder);

}  // namespace plimsoll
