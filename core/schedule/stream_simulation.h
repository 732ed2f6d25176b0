// SPDX-License-Identifier: Apache-2.0
// Whether the messages of a pipeline arrive over channels without tags, as NCCL's are.
#pragma once

#include <cstddef>
#include <vector>

#include "core/schedule/transfers.h"

namespace plimsoll {

/// Which messages of a rank queue behind one another. ProcessGroupNCCL has a stream per communicator: one per pair of
/// ranks for a group that is connected lazily (both directions in it), one per group for a group that is connected
/// eagerly. A group for each direction of a link gives a stream per direction.
enum class StreamRule { Direction, Pair, Rank };

struct StreamOutcome {
    std::size_t stuck = 0;     ///< sends and receives that never end, over all ranks
    std::size_t mixed_up = 0;  ///< tensors that are taken for another: an activation for a gradient
    bool arrives() const { return stuck == 0 && mixed_up == 0; }
};

/// Plays the messages of all ranks, `ranks[r]` being the steps of rank r. A stream is first in, first out: a message
/// passes when its send and a receive between the same two ranks both head their streams. No host waits, but a message
/// that was started behind a wait begins when the wait is over, since NCCL's streams follow the stream that computes
/// (c10d, ProcessGroupNCCL, syncStream()).
StreamOutcome simulate_streams(const std::vector<std::vector<PipelineStep>>& ranks, StreamRule rule);

/// Error when a message of the schedule would never arrive, or be taken for another, with a stream per direction. No
/// schedule that check_schedule() accepts is known to have one.
Result<void> check_messages(const PipelineSchedule& schedule);

}  // namespace plimsoll
