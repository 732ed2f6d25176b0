// SPDX-License-Identifier: Apache-2.0
// Proves that a pipeline schedule can run.
#pragma once

#include "core/schedule/schedule.h"

namespace plimsoll {

/// No error when every stage runs the forward and the backward of each micro-batch once (the backward in one go, or as
/// input and weight backward), and when all lists, executed in order with sends that do not block, run to their end.
/// Otherwise the error names the rank and the op, and says whether the op is missing, repeated, foreign to the
/// schedule, or hangs and what for.
Result<void> check_schedule(const PipelineSchedule& schedule);

/// The most micro-batches of one rank whose activations are alive at once, counted over its chunks: a forward keeps one
/// micro-batch, the backward (with a split backward, the weight backward) gives it back. In stage micro-batches: with v
/// chunks, v of them are one rank's whole micro-batch.
int peak_in_flight(const PipelineSchedule& schedule, int rank);
/// The same on the rank with the most, in micro-batches of a whole rank.
double peak_micro_batches(const PipelineSchedule& schedule);

}  // namespace plimsoll
