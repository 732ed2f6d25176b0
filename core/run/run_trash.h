// SPDX-License-Identifier: Apache-2.0
// Deleting runs so that it can be undone: a run goes to .trash in the store, and comes back from there.
#pragma once

#include <filesystem>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/run/run_folder.h"

namespace plimsoll {

/// Where the deleted runs of the store lie.
std::filesystem::path trash_of(const std::filesystem::path& store);

/// Moves the run's folder into the trash beside it and says where it lies now. Error where the run is live, and where
/// the folder cannot be moved; then nothing has changed.
Result<std::filesystem::path> put_in_trash(const RunFolder& run);

/// Moves a folder from the trash back to its store, under the name that it had, or that name with a number where
/// another run has it by now. Gives the place.
Result<std::filesystem::path> put_back(const std::filesystem::path& trashed);

struct Trash {
    std::size_t runs = 0;
    Bytes bytes = 0;
};
/// What the trash of the store holds.
Trash count_trash(const std::filesystem::path& store);
/// Removes it for good. Error where a file cannot be removed; what could be is gone.
Result<void> empty_trash(const std::filesystem::path& store);

}  // namespace plimsoll
