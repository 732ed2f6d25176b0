// SPDX-License-Identifier: Apache-2.0
// Recorded points step by step, all series of a step together.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/telemetry/series_store.h"

namespace plimsoll {

struct RecordedStep {
    std::uint64_t step = 0;
    double time = 0;                                            ///< time of the step's last point
    std::vector<std::pair<const std::string*, double>> values;  ///< series' names (of the store) and values
};

/// Visits the steps in ascending order. The first error of the visitor ends the walk.
Result<void> for_each_step(const SeriesStore& store, const std::function<Result<void>(const RecordedStep&)>& take);

/// Time of the first point; 0 where there is none.
double first_time(const SeriesStore& store);

}  // namespace plimsoll
