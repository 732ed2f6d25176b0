// SPDX-License-Identifier: Apache-2.0
// Short real runs, one after the other in temporary folders, and their measurements.
#pragma once

#include <vector>

#include "app/cli/bench/bench_variants.h"
#include "core/base/json.h"
#include "core/base/units.h"

namespace plimsoll::cli {

/// A variant's measurements over all rounds.
struct Measured {
    std::vector<double> step_rates;   ///< tokens/s of each counted step, in order
    std::vector<double> round_rates;  ///< median of each round's step rates
    std::vector<Bytes> peak;          ///< by rank, over all rounds
    std::vector<Bytes> step_peak;     ///< by rank: of the last step alone (CPU ranks; else empty)
    Json routing;                     ///< by rank ("0"): rows of each expert in the second step; null: no experts
    std::vector<Bytes> resting;       ///< by rank: memory that stays between steps (weights, gradients, optimizer)
    Bytes estimate = 0;               ///< of the fullest rank
    double loss = 0;                  ///< of the last step
};

/// Steps left out at the start of each run, in which buffers are made and caches warm up.
std::int64_t steps_left_out(std::int64_t steps);

/// Value below which a share of the numbers lies; linear between neighbouring numbers.
double quantile(std::vector<double> numbers, double share);

/// The error of the first variant that cannot start here.
Result<void> check_variants(const std::vector<Variant>& variants);

/// Trains every variant once a round, in turns. A busy machine changes its pace, so neighbours in time are compared
/// with one another. Progress goes to standard error. Error where a run fails, and after Ctrl-C; the temporary folders
/// are removed in any case.
Result<std::vector<Measured>> measure(const std::vector<Variant>& variants, std::int64_t rounds);

}  // namespace plimsoll::cli
