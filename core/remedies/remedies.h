// SPDX-License-Identifier: Apache-2.0
// Why a plan does not fit, and what would make it fit. Pure functions of the plan and its estimate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/units.h"
#include "core/estimate/estimate.h"
#include "core/estimate/estimate_json.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// A change of the plan that needs less memory and trains the same model on the same global batch and cluster.
struct Remedy {
    std::string name;                   ///< "ZeRO-3"
    std::vector<std::string> settings;  ///< for with_settings: "layout.zero_stage=3"
    std::vector<std::string> parts;     ///< names of the remedies in a set; empty: one change
    Bytes saves = 0;                    ///< on the fullest rank: the plan's estimate less the changed plan's
    Bytes total = 0;                    ///< of the changed plan's fullest rank
    Bytes host = 0;                     ///< more host memory a rank
    double slowdown = 0;                ///< of a step's time by StepTimer: 0.33 is a third more, below 0 is faster
    bool fits = false;                  ///< whether the changed plan fits
    bool exact = true;                  ///< the training's arithmetic stays; false: rounding changes
    bool adapters = false;              ///< trains adapters in place of the weights (then not exact either)
    std::string reason;                 ///< where the memory and the time come from
    std::string source;
};

struct Remedies {
    std::string why;              ///< sentences: the memory needed, what dominates it and what that consists of
    std::vector<Remedy> changes;  ///< changes that fit first, least time lost first; then most bytes for the time
    /// For a plan that does not fit: the cheapest set found with which it fits. On a single GPU that cannot hold the
    /// model's states it may take adapters, elsewhere only where no exact set is found.
    std::optional<Remedy> set;
    Bytes least = 0;  ///< the fullest rank with everything the search tried: no set of these changes needs less
};

}  // namespace plimsoll
