// SPDX-License-Identifier: Apache-2.0
// What a rank sends and receives around each operation: the list that an engine executes and stream_simulation.h proves.
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

/// A rank starts `posts`, waits for `receives`, lets go of `ended`, executes the op and starts `sends`.
struct PipelineStep {
    PipelineOp op;
    /// Receives to start: each before the operation that needs it, with one operation's lead, and on a link in the order
    /// in which the other rank sends. So a channel without tags (NCCL) can carry them.
    std::vector<Transfer> posts;
    std::vector<Transfer> receives;  ///< needed by the op, at most one; posted here or earlier
    /// Sends of earlier steps that are over once `receives` have come: their peer has used what they carried. In the
    /// order in which they were sent.
    std::vector<Transfer> ended;
    std::vector<Transfer> sends;  ///< what the op made, at most one; must not block
};

/// The rank's list with its transfers. Stages on the same rank hand over without a transfer. The schedule has passed
/// check_schedule().
std::vector<PipelineStep> steps_of(const PipelineSchedule& schedule, int rank);
/// steps_of() of every rank.
std::vector<std::vector<PipelineStep>> steps_of(const PipelineSchedule& schedule);

/// A number that tells the transfers of a step apart.
int tag_of(const PipelineSchedule& schedule, const Transfer& transfer);

}  // namespace plimsoll
