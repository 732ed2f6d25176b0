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

/// The layout with the ranks, micro-batches and chunks of a list, and the nearest schedule that lays stages as it does.
Layout laid_out_as(Layout layout, const PipelineSchedule& schedule);

/// The list of operations that the plan's pipeline follows: layout.schedule_file's where it is set, else
/// make_schedule's with relative_stage_times. One rank accumulates gradients (1F1B), whatever the schedule. A file has
/// the plan's pp and accumulation, and lays the stages as layout.schedule and layout.chunks do (so that which layers a
/// rank holds does not depend on a file); the order of the operations is free. Error for a file without a pipeline.
Result<PipelineSchedule> plan_schedule(const Plan& plan);
/// The same for times known better than from FLOPs.
Result<PipelineSchedule> plan_schedule(const Plan& plan, const StageTimes& times);

}  // namespace plimsoll
