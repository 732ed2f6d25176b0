// SPDX-License-Identifier: Apache-2.0
// What a run folder may hold before anything is written into it: it may come from somebody else.
#pragma once

#include "core/base/fd.h"
#include "core/base/result.h"
#include "core/telemetry/contract/run_layout.h"

namespace plimsoll {

/// Whether all that lies in the run folder is the run's own: plain files with one name and folders, which belong to this
/// user and which no other user can replace. A symbolic link (they survive tar, zip and git) would let a log, a record or
/// run.json be written where somebody else decided; a hard link likewise. The path up to the folder is the user's own
/// choice and may have links. Bad input names the first file that is otherwise, and what to do.
Result<void> check_own_files(const RunLayout& run);

/// Opens a file of a run for writing (flags as in open(2); made with mode 0600 where it is not there): never through a
/// link, never a device or a pipe, never a file that has another name elsewhere.
Result<Fd> open_own(const std::filesystem::path& file, int flags);

}  // namespace plimsoll
