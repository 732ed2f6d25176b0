// SPDX-License-Identifier: Apache-2.0
// The schedule of a plan: made by its generator, or read from its file.
#pragma once

#include "core/schedule/plan_pipeline/schedule_file.h"

namespace plimsoll {

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
