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
    Interval interval;               ///< the estimate's interval
    double error = 0;                ///< predicted / truth - 1
    std::string cause;  ///< explains an error over 5 %: an assumption where the row is silent, or a known cause
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

/// The quantiles of truth ÷ predicted over the estimated rows of `framework` without assumptions, in the form of
/// error_model.cpp.
struct ErrorQuantiles {
    std::size_t samples = 0;
    std::vector<double> ratios;
};
ErrorQuantiles error_quantiles(const std::vector<PeakCheck>& checks, Framework framework);

}  // namespace plimsoll
