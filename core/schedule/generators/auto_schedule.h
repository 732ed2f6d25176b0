// SPDX-License-Identifier: Apache-2.0
// Zero-bubble schedules found by search for given times and a memory limit.
#pragma once

#include <cstdint>

#include "core/schedule/schedule.h"

namespace plimsoll {

enum class AutoSearch : std::uint8_t {
    Paper,  ///< the rules of the paper's section 3.1 with a grid over its choices: reproduces its table of bubble rates
    Wide,   ///< more first warm-ups, then one forward more or less on each rank while that helps
};

enum class AutoGoal : std::uint8_t {
    WholeStep,    ///< the end of the last rank: what counts where every rank waits for all before the next step
    LongestRank,  ///< the longest time of one rank, as in the paper, where a rank may begin its next step early
};

struct AutoLimits {
    double micro_batches = 1;  ///< activations that a rank has room for, in micro-batches
    double weight_share = 1;   ///< share of a micro-batch's activations that its weight backward still needs
    AutoSearch search = AutoSearch::Wide;
    AutoGoal goal = AutoGoal::WholeStep;
    std::int64_t tried_ops = 8'000'000;  ///< operations laid out over the whole search: about 0.1 s
};

/// The best one-chunk schedule with split backward that the search finds within the limits: shortest by the
/// goal (makespan or longest_rank of simulate()). Section 3.1 of "Zero Bubble Pipeline Parallelism" (Qi 2024): as many
/// forwards as fit before the first backward, then one forward and one input backward in turn, weight backwards where
/// the rank would wait or memory is full. The wide search also varies the number of first forwards and how large a wait
/// has to be to be filled. Times that are empty stand for F = B = W. Trusts the shape that make_schedule has checked; a
/// limit below one micro-batch counts as one.
PipelineSchedule auto_schedule(const ScheduleShape& shape, const StageTimes& times, const AutoLimits& limits);

}  // namespace plimsoll
