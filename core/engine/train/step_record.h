// SPDX-License-Identifier: Apache-2.0
// What one step of a run did, as it is judged, answered and recorded.
#pragma once

#include <cstdint>

#include "core/base/units.h"
#include "core/control/gradient_guard.h"
#include "core/engine/parallel/gradient_norms.h"

namespace plimsoll::engine {

/// Where a run is: what its next step begins from.
struct RunPosition {
    std::int64_t updates = 0;   ///< made
    std::uint64_t samples = 0;  ///< sequences consumed, over all ranks
    bool operator==(const RunPosition&) const = default;
};

struct StepRecord {
    std::int64_t number = 0;    ///< from 1
    std::uint64_t samples = 0;  ///< where its batch begins
    double loss = 0;            ///< mean over the global batch
    double router_loss = 0;     ///< what routers add to it
    double z_loss = 0;          ///< and the z-loss
    bool stop = false;          ///< some rank was asked to stop before the last backward
    bool long_step = false;     ///< so long that the ranks ask again after it
    GradientNorms norms;        ///< before clipping
    double lr = 0;
    double scale = 1;  ///< of an fp16 loss
    bool applied = false;
    bool overflow = false;  ///< of fp16 gradients: the loss scaler's
    GuardDecision decision;
    Seconds seconds = 0;
    Seconds data_seconds = 0;  ///< of it to cut batches from the corpus
    Seconds wait_seconds = 0;  ///< of it in calls that other ranks take part in
};

}  // namespace plimsoll::engine
