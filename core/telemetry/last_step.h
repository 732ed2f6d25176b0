// SPDX-License-Identifier: Apache-2.0
// Where a record stands, without reading all of it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace plimsoll {

/// The step of the last points in a record file, from the last 2 MiB of it (the file of a long run is larger than what
/// can be read while somebody waits). 0 when there is none, or no file.
std::uint64_t last_recorded_step(const std::filesystem::path& record);

}  // namespace plimsoll
