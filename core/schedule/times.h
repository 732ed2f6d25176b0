// SPDX-License-Identifier: Apache-2.0
// Durations of a pipeline's operations.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// One entry per stage (chunks x ranks entries). A full backward takes backward_input + backward_weight.
struct StageTimes {
    std::vector<Seconds> forward;
    std::vector<Seconds> backward_input;
    std::vector<Seconds> backward_weight;
    std::vector<Seconds> send;  ///< from stage s to stage s + 1 and back; one less than stages, or empty: nothing

    static StageTimes uniform(int stages, Seconds forward, Seconds backward_input, Seconds backward_weight,
                              Seconds send = 0);
    int stages() const { return static_cast<int>(forward.size()); }
    bool operator==(const StageTimes&) const = default;
};

}  // namespace plimsoll
