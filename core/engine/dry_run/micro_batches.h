// SPDX-License-Identifier: Apache-2.0
// How many micro-batches of a step have to be gone through to see all that a step can show.
#pragma once

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// At most layout.accumulation. Without a pipeline two: the first makes what the second finds, and the second leaves
/// everything as it was. Under 1F1B and interleaved 1F1B a rank repeats forward and backward once its pipeline is full:
/// two or four micro-batches a rank show filling, repeating and draining, where they keep as many alive on every rank
/// as all of them do (which is looked up in the list of operations). Under every other schedule: all.
/// Peaks are then the same; what a card has reserved may differ by a segment of 2 or 20 MiB, since the order in which
/// blocks are reused goes on changing.
Result<std::int64_t> enough_micro_batches(const Plan& plan);

}  // namespace plimsoll::engine
