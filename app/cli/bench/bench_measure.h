// SPDX-License-Identifier: Apache-2.0
// Real short runs, one after the other in temporary folders, and what they showed.
#pragma once

#include <vector>

#include "app/cli/bench/bench_variants.h"
#include "core/base/json.h"
#include "core/base/units.h"

namespace plimsoll::cli {

/// A variant over all rounds.
struct Measured {
    std::vector<double> step_rates;   ///< tokens/s of each step that counts, in order
    std::vector<double> round_rates;  ///< median of each round's
    std::vector<Bytes> peak;          ///< by rank, over all rounds
    std::vector<Bytes> step_peak;     ///< by rank: of the last step alone (CPU ranks; else empty)
    Json routing;                     ///< by rank ("0"): rows of each expert in the second step; null: no experts
    std::vector<Bytes> resting;       ///< by rank: what stays between steps (weights, gradients, optimizer)
    Bytes estimate = 0;               ///< of the fullest rank
    double loss = 0;                  ///< of the last step
};

/// Left out at the start of each run: buffers are made and caches warm up.
std::int64_t steps_left_out(std::int64_t steps);

/// Value below which a share of the numbers lies; linear between neighbours.
double quantile(std::vector<double> numbers, double share);

/// The first variant that cannot start here, as an error.
Result<void> check_variants(const std::vector<Variant>& variants);

/// Trains every variant once a round, in turns, because a busy machine changes its pace: neighbours in time are
/// compared with one another. Progress goes to standard error. Error where a run fails, and after Ctrl-C; the temporary
/// folders are gone in any case.
Result<std::vector<Measured>> measure(const std::vector<Variant>& variants, std::int64_t rounds);

}  // namespace plimsoll::cli
