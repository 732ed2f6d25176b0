// SPDX-License-Identifier: Apache-2.0
// The folders of all runs.
#pragma once

#include "core/run/run_folder.h"

namespace plimsoll {

/// $PLIMSOLL_RUNS, or $XDG_DATA_HOME/plimsoll/runs, or ~/.local/share/plimsoll/runs.
std::filesystem::path runs_folder();

/// "llama-tiny-2026-11-29-142233" under runs_folder(), not taken yet.
std::filesystem::path new_run_path(const Plan& plan);

/// Makes a run folder under such a name. Of several that are made in the same second each gets one of its own.
Result<RunFolder> create_in_store(const Plan& plan);

/// A run folder's path, the name of a run in the store, or "latest". The error names what was looked for.
Result<RunFolder> find_run(const std::string& run, const std::filesystem::path& store = runs_folder());

/// Newest first; folders that hold no run are passed over.
std::vector<RunFolder> list_runs(const std::filesystem::path& store = runs_folder());

}  // namespace plimsoll
