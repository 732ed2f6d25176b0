// SPDX-License-Identifier: Apache-2.0
// Ranks that train different plans would send one another tensors of other shapes, and crash without a word.
#pragma once

#include "core/engine/ranks/collectives.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// Error on every rank, with the number of the last one whose plan is not rank 0's (another copy of the run folder,
/// another version), before anything depends on it.
Result<void> require_same_plan(const Plan& plan, Collectives& world);

}  // namespace plimsoll::engine
