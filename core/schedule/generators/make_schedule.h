// SPDX-License-Identifier: Apache-2.0
// A pipeline schedule by name.
#pragma once

#include "core/schedule/schedule.h"

namespace plimsoll {

/// The list of every rank. Sources:
/// GPipe (Huang 2019), 1F1B (PipeDream-flush, Narayanan 2021), interleaved 1F1B (Narayanan 2021, section 2.2),
/// breadth-first (Lamy-Poirier 2022), ZB-H1 and ZB-H2 (Qi 2024, "Zero Bubble Pipeline Parallelism", sections 2.1, 2.2),
/// ZB-1p and ZB-2p (the same, section 3: found by search for these `times` with room for p and 2p micro-batches;
/// without times for F = B = W), ZB-V, V-Half and V-Min (Qi 2024, "Pipeline Parallelism with Controllable Memory"),
/// DualPipeV (DeepSeek-V3's DualPipe cut in half). Error below one rank or micro-batch, above max_schedule_ops, and
/// where a schedule's own constraint is broken; it names the constraint and the nearest values that work.
Result<PipelineSchedule> make_schedule(Schedule kind, ScheduleShape shape, const StageTimes& times = {});

}  // namespace plimsoll
