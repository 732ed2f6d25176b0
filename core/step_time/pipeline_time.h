// SPDX-License-Identifier: Apache-2.0
// The time of a pipeline in closed form, as fast as a search needs it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// Pipeline ranks that are alike: the time of one micro-batch on each rank, over all its chunks.
struct RankWork {
    std::int64_t ranks = 1;
    Seconds forward = 0, backward_input = 0, backward_weight = 0;
    Seconds total() const { return forward + backward_input + backward_weight; }
};

struct PipelineTime {
    Seconds makespan = 0;
    Seconds slowest = 0;  ///< work of the slowest rank on all micro-batches
    Seconds sends = 0;    ///< part of the makespan that sends between stages add
};

/// `micro_batches` over the ranks of `work` (in order, at least one), `chunks` stages on each, `send` from a stage to
/// the next. Filling and draining take one micro-batch on every rank, by the schedule's bubble
/// (core/schedule/closed_form.h gives it for equal ranks); in between the slowest rank sets the pace, or under 1F1B the
/// round trip of all ranks' micro-batches (mean rank + 2 (p - 1)/p sends). Within a few per cent of simulate()
/// (tests/step_time): The schedules ZB-1p and ZB-2p, which take a search, count as ZB-H1 and ZB-H2.
PipelineTime pipeline_time(Schedule kind, const std::vector<RankWork>& work, std::int64_t micro_batches,
                           std::int64_t chunks, Seconds send);

}  // namespace plimsoll
