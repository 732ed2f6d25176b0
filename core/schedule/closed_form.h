// SPDX-License-Identifier: Apache-2.0
// The bubble by the papers' formulas, shown beside the simulated value.
#pragma once

#include <optional>
#include <string>

#include "core/schedule/schedule.h"

namespace plimsoll {

struct ClosedForm {
    double bubble = 0;    ///< share of the step
    std::string formula;  ///< "(p−1)/(m+p−1)"
    std::string source;
};

/// The bubble of equal stages without communication, or nothing where no closed form is known (ZB-1p, ZB-2p). With F,
/// B, W the forward, input and weight backward of one micro-batch on one rank (all chunks together), m micro-batches, p
/// ranks, v chunks, each rate is time lost / (time lost + m (F + B + W)). For the zero-bubble schedules that is the
/// rate per rank (Timeline::bubble_per_rank).
std::optional<ClosedForm> closed_form_bubble(Schedule kind, const ScheduleShape& shape, Seconds forward,
                                             Seconds backward_input, Seconds backward_weight);

}  // namespace plimsoll
