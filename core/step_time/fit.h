// SPDX-License-Identifier: Apache-2.0
// Rates of a machine from step times that were measured on it.
#pragma once

#include <vector>

#include "core/step_time/hardware.h"

namespace plimsoll {

struct MeasuredStep {
    Plan plan;
    Seconds seconds = 0;
};

struct HardwareFit {
    Hardware hardware;
    double error_before = 0;  ///< mean |predicted / measured - 1|
    double error_after = 0;
};

/// Changes the matrix peak, the memory's rate, the host's launches, what a step takes beside them and, where ranks
/// talk, the link in a node and the collectives' launches, so that the sum of squared logarithms of predicted /
/// measured is least (Subplex, Rowan 1990, of NLopt), each held loosely to where it was. All plans run on the cluster's
/// GPU. Error for fewer than three measurements, and where a plan's time cannot be predicted.
Result<HardwareFit> fit_hardware(const Hardware& start, const std::vector<MeasuredStep>& measured);

}  // namespace plimsoll
