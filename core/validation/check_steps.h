// SPDX-License-Identifier: Apache-2.0
// Predicted step times beside published ones: what `plimsoll validate step-time` does.
#pragma once

#include "core/step_time/step_time.h"
#include "core/validation/step_row.h"

namespace plimsoll {

struct StepCheck {
    StepRow row;
    StepReport report;
    double error = 0;  ///< predicted / truth - 1
};

struct StepSummary {
    std::size_t rows = 0;
    double mean_error = 0;    ///< mean of |error|
    double median_error = 0;  ///< median of |error|
    double bias = 0;          ///< mean of error
    std::size_t groups = 0;   ///< groups of at least two rows
    double mean_regret = 0;  ///< the truth of the row predicted fastest / the truth of the fastest - 1, over the groups
    double worst_regret = 0;
};

/// Error for a GPU that is not in the catalogue. `efficiency`, where given, replaces the catalogue's.
Result<std::vector<StepCheck>> check_steps(const std::vector<StepRow>& rows, const Efficiency* efficiency = nullptr);
StepSummary summarize(const std::vector<StepCheck>& checks);

}  // namespace plimsoll
