// SPDX-License-Identifier: Apache-2.0
// Proves that a pipeline schedule can run.
#pragma once

#include "core/schedule/schedule.h"

namespace plimsoll {

/// Nothing when every stage runs each micro-batch's forward once and its backward once (in one go, or as input and
/// weight backward), and the lists, each executed in order with sends that do not block, come to their end. Otherwise
/// an error that names the rank and the op: missing, repeated, of another schedule, or where it hangs and for what.
Result<void> check_schedule(const PipelineSchedule& schedule);

/// The most micro-batches of one rank whose activations are alive at once, counted over its chunks: a forward keeps
/// one, its backward (with a split backward its weight backward) gives it back. In stage micro-batches: with v chunks,
/// v of them are one rank's whole micro-batch.
int peak_in_flight(const PipelineSchedule& schedule, int rank);
/// The same on the rank where it is most, in micro-batches of a whole rank.
double peak_micro_batches(const PipelineSchedule& schedule);

}  // namespace plimsoll
