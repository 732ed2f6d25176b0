// SPDX-License-Identifier: Apache-2.0
// What a person is told of something that cannot be written.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

/// One sentence with the path, the cause and the cure: "cannot write /runs/a/plan.json: No space left on device; the
/// disk at /runs is full: free some room there, or choose another place". `error` is the errno of the call that failed.
std::string write_error(const std::filesystem::path& path, int error);

/// The folder at which the disk (the file system) of this path is mounted. A path that is not there yet has the disk of
/// the nearest folder above it that is.
std::filesystem::path disk_of(const std::filesystem::path& path);

}  // namespace plimsoll
