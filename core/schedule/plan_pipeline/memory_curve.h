// SPDX-License-Identifier: Apache-2.0
// Activations that each rank holds over time.
#pragma once

#include <vector>

#include "core/schedule/simulate.h"

namespace plimsoll {

struct MemoryPoint {
    Seconds time = 0;
    double micro_batches = 0;  ///< alive from this time on
};

struct MemoryCurve {
    std::vector<std::vector<MemoryPoint>> ranks;  ///< steps, in order of time
    std::vector<double> peak;                     ///< per rank
};

/// In micro-batches of a whole rank: a forward adds 1 / chunks when it starts; a backward gives that share back when it
/// ends. A split backward gives 1 - `weight_share` of the share back with the input part and the rest with the weight
/// part (34h + 5as bytes per token come with the forward, 32h stay for the weights: Qi et al. 2024, table 1).
MemoryCurve memory_curve(const PipelineSchedule& schedule, const Timeline& timeline, double weight_share = 1);

}  // namespace plimsoll
