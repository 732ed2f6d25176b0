// SPDX-License-Identifier: Apache-2.0
// Estimates beside measured peaks: what `plimsoll validate memory` does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/frameworks/error_model.h"
#include "core/validation/peak_row.h"

namespace plimsoll {

struct PeakCheck {
    PeakRow row;
    std::optional<Bytes> predicted;  ///< nothing where the row cannot be estimated
    Interval interval;               ///< of the estimate
    double error = 0;                ///< predicted / truth - 1
    std::string cause;               ///< of an error over 5 %: what the row does not say, or what would explain it
};

struct PeakSummary {
    std::size_t rows = 0, estimated = 0;
    double mean_error = 0;    ///< mean of |error| over the estimated rows
    double median_error = 0;  ///< median of |error|
    double within_10 = 0;     ///< share of ALL rows within 10 %: a row that cannot be estimated counts as a miss
    double inside = 0;        ///< share of the estimated rows whose truth lies in the interval
    std::size_t over = 0;     ///< rows that "fit" (upper end within the card) although the truth exceeds the card
};

std::vector<PeakCheck> check_peaks(const std::vector<PeakRow>& rows);
PeakSummary summarize(const std::vector<PeakCheck>& checks);

/// The quantiles of truth ÷ predicted over the estimated rows of `framework` that say all that is asked, as
/// error_model.cpp holds them.
struct ErrorQuantiles {
    std::size_t samples = 0;
    std::vector<double> ratios;
};
ErrorQuantiles error_quantiles(const std::vector<PeakCheck>& checks, Framework framework);

}  // namespace plimsoll
