// SPDX-License-Identifier: Apache-2.0
// Rates of a machine from step times measured on that machine.
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

/// Changes the matrix peak, the memory's rate, the host's launch time, the fixed time of a step and, where ranks
/// communicate, the link in a node and the collectives' launch time, so that the sum of squared logarithms of predicted
/// / measured is least (Subplex, Rowan 1990, of NLopt). Each rate is held loosely to its start. All plans run on the
/// cluster's GPU. Error for fewer than three measurements, and where a plan's time cannot be predicted.
Result<HardwareFit> fit_hardware(const Hardware& start, const std::vector<MeasuredStep>& measured);

}  // namespace plimsoll
