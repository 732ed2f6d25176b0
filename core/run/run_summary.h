// SPDX-License-Identifier: Apache-2.0
// A run in one line of a list: its plan, how it stands, how far it got, what a person wrote about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "core/plan/plan.h"
#include "core/run/run_folder.h"
#include "core/run/run_notes.h"

namespace plimsoll {

struct RunSummary {
    std::filesystem::path path;
    std::string name;          ///< of the folder
    std::optional<Plan> plan;  ///< as started; nothing where it cannot be read
    bool readable = false;     ///< run.json could be read
    RunState state;
    bool live = false;           ///< a supervisor holds the run
    std::int64_t step = 0;       ///< last recorded by rank 0
    std::optional<double> loss;  ///< of the last step; nats a token
    RunNotes notes;

    // What the plan and the record were read from, so that an unchanged one is not read again.
    std::uintmax_t record_bytes = 0;
    std::filesystem::file_time_type plan_time{};

    /// The title that a person gave it, else the folder's name.
    std::string title() const { return notes.title.empty() ? name : notes.title; }
};

/// Reads the run. Of `before`, the summary of an earlier look at the same run, the parts are taken over whose files are
/// as they were. Of a record beyond 64 MiB the loss is that of the newest checkpoint.
RunSummary summarize(const RunFolder& run, const RunSummary* before = nullptr);

}  // namespace plimsoll
