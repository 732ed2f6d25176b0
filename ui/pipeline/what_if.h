// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline that a person tries out beside the plan's.
#pragma once

#include "core/schedule/plan_pipeline/plan_pipeline.h"

namespace plimsoll::ui {

struct WhatIf {
    Schedule schedule = Schedule::OneFOneB;
    int ranks = 1;
    int microBatches = 1;
    int chunks = 2;
    bool planTimes = true;  ///< times from the plan's FLOPs; else equal stages with the times below
    double forward = 1, backwardInput = 1, backwardWeight = 1;  ///< times of one micro-batch on one rank
    double send = 0;
    bool operator==(const WhatIf&) const = default;
};

/// The plan's own pipeline.
WhatIf whatIfOf(const Plan& plan);
/// The plan with the schedule, stages, micro-batches and chunks that were tried.
Plan withWhatIf(Plan plan, const WhatIf& tried);
Result<Pipeline> simulateWhatIf(const WhatIf& tried, const Plan& plan);
/// Whether the number of chunks changes anything under this schedule.
bool readsChunks(Schedule schedule);

}  // namespace plimsoll::ui
