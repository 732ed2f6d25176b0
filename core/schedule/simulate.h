// SPDX-License-Identifier: Apache-2.0
// When each operation of a pipeline schedule runs.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

struct TimedOp {
    PipelineOp op;
    int rank = 0;
    Seconds start = 0;
    Seconds end = 0;
};

struct Timeline {
    std::vector<std::vector<TimedOp>> ranks;  ///< the schedule's lists with their times
    Seconds makespan = 0;                     ///< first start to last end over all ranks
    Seconds longest_rank = 0;                 ///< the longest time from one rank's first start to its last end
    std::vector<Seconds> busy;                ///< per rank
    std::vector<Seconds> idle;                ///< per rank: makespan - busy
    /// Idle share of ranks x makespan: the loss when every rank waits for all ranks before the next step, as a gradient
    /// norm over all ranks requires.
    double bubble = 0;
    /// 1 - busy / (ranks x longest_rank): the bubble rate of the zero-bubble papers, where a rank may start its next
    /// step as soon as it is done with this one. Equal to `bubble` for GPipe and 1F1B with equal stages.
    double bubble_per_rank = 0;
};

/// Runs the lists against their dependencies: a forward needs the forward of the stage before; an input gradient needs
/// the input gradient of the stage after and its own forward; a weight gradient needs its own input gradient. A send
/// takes time between ranks but keeps neither rank busy; between stages on one rank a send takes no time. Error for a
/// schedule that check_schedule refuses and times that check_times refuses.
Result<Timeline> simulate(const PipelineSchedule& schedule, const StageTimes& times);

}  // namespace plimsoll
