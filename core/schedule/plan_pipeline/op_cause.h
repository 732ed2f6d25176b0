// SPDX-License-Identifier: Apache-2.0
// Why an operation of a timeline starts when it does.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "core/schedule/simulate.h"

namespace plimsoll {

/// Place of an op: timeline.ranks[rank][index].
struct OpPlace {
    int rank = 0;
    std::size_t index = 0;
    bool operator==(const OpPlace&) const = default;
};

/// The event right after which an op started.
struct Cause {
    enum class Kind {
        Nothing,   ///< the op starts the step
        Rank,      ///< the op before it on the same rank
        Input,     ///< a forward's input: the stage before
        Gradient,  ///< a gradient: the stage after
    };
    Kind kind = Kind::Nothing;
    OpPlace op;          ///< the op it waited for; unused for Nothing
    Seconds waited = 0;  ///< time the rank stood idle before this op
    Seconds send = 0;    ///< part of `waited` in which the data was under way after `op` had ended
};

/// Answers for one simulated schedule, which must outlive it.
class Causes {
public:
    Causes(const PipelineSchedule& schedule, const Timeline& timeline);
    /// `place` must exist.
    Cause cause(const OpPlace& place) const;
    /// The op and the causes before it back to the start of the step: the chain that set its time.
    std::vector<OpPlace> chain(OpPlace place) const;

private:
    const TimedOp& at(const OpPlace& place) const;
    std::optional<OpPlace> place_of(int stage, int micro_batch, bool gradient) const;

    const PipelineSchedule& schedule_;
    const Timeline& timeline_;
    std::vector<std::size_t> forward_, gradient_;  ///< by stage and micro-batch: index in the rank's list
};

}  // namespace plimsoll
