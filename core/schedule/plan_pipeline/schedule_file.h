// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule as a file, so that a list from elsewhere or changed by hand can be simulated and trained.
#pragma once

#include <filesystem>

#include "core/base/json.h"
#include "core/schedule/schedule.h"

namespace plimsoll {

/// {"plimsoll_schedule": 1, "ranks": 2, "micro_batches": 2, "chunks": 1, "placement": "loop",
///  "ops": [["F0", "F1", "B0", "B1"], ["F0", "B0", "F1", "B1"]]}
///
/// One list per rank, in the order of execution; the names are those of short_name(): F forward, B backward, W weight
/// backward, the micro-batch, and with several chunks the rank's chunk ("F3.1"). A B whose rank has a W of the same
/// micro-batch and chunk gives the input's gradient only, otherwise both. Placement "v" folds two chunks. Error for
/// anything else, and for lists that check_schedule refuses; `what` names the source.
Result<PipelineSchedule> schedule_from_json(const Json& json, const std::string& what);
std::string schedule_text(const PipelineSchedule& schedule);

/// A file of 16 MiB at most.
Result<PipelineSchedule> read_schedule(const std::filesystem::path& path);
Result<void> write_schedule(const std::filesystem::path& path, const PipelineSchedule& schedule);

}  // namespace plimsoll
