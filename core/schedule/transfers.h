// SPDX-License-Identifier: Apache-2.0
// What a rank sends and receives around each operation: the list that an engine executes.
#pragma once

#include <vector>

#include "core/schedule/schedule.h"

namespace plimsoll {

/// A tensor that passes between ranks: the output of a stage going down (activations) or the gradient of its input
/// going up.
struct Transfer {
    int peer = 0;   ///< the other rank
    int stage = 0;  ///< the stage that computed it
    int micro_batch = 0;
    bool gradient = false;
    bool operator==(const Transfer&) const = default;
};

struct PipelineStep {
    PipelineOp op;
    std::vector<Transfer> receives;  ///< before the op, at most one
    std::vector<Transfer> sends;     ///< after the op, at most one; must not block
};

/// The rank's list with its transfers. Stages on the same rank hand over without a transfer.
std::vector<PipelineStep> steps_of(const PipelineSchedule& schedule, int rank);

/// Whether on every link, in each direction, tensors are received in the order in which they are sent. Then a channel
/// without tags (NCCL) can carry them; otherwise each needs its tag or a receive posted ahead.
bool transfers_in_order(const PipelineSchedule& schedule);

}  // namespace plimsoll
