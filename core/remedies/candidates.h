// SPDX-License-Identifier: Apache-2.0
// The changes that are worth trying on a plan, before anything is estimated.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll {

struct PlanChange {
    std::string name;
    std::vector<std::string> settings;
    std::string reason;
    std::string source;
    bool exact = true;      ///< sums and their rounding stay as they are
    bool adapters = false;  ///< trains adapters in place of the weights
};

/// Whether the plan trains all weights on one GPU that cannot hold their states (16 B a parameter): there people
/// fine-tune with adapters.
bool asks_for_adapters(const Plan& plan);

/// Changes in the order of docs: recomputation, batch, sharding, offload, kernels, dtypes, adapters, parallelism. The global
/// batch, the sequence and the cluster stay. Some changes may be impossible, which check_plan finds after
/// with_settings.
std::vector<PlanChange> candidates(const Plan& plan);

}  // namespace plimsoll
