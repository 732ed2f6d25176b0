// SPDX-License-Identifier: Apache-2.0
// What a folder takes on the disk.
#pragma once

#include <filesystem>

#include "core/base/units.h"

namespace plimsoll {

/// Bytes of all files in the folder and below it; what cannot be read counts as none.
Bytes folder_bytes(const std::filesystem::path& folder);

}  // namespace plimsoll
