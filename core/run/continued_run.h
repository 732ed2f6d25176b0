// SPDX-License-Identifier: Apache-2.0
// The plans of runs that go on from another run: with more steps, or as a new run from one of its checkpoints.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"
#include "core/run/checkpoint_list.h"

namespace plimsoll {

/// The recorded plan with `steps` in all. Where that is more than it had, `how` says how the learning rate goes on
/// (core/control/lr_extension.h).
Plan with_more_steps(const Plan& recorded, std::int64_t steps, LrExtension how);

/// The plan of a new run that begins at step 0 with the weights of a checkpoint (model.weights; adapter.weights where
/// the run trains an adapter), a fresh optimizer and the learning rate from its start. All else stays.
Plan forked_plan(const Plan& recorded, const ListedCheckpoint& checkpoint);

}  // namespace plimsoll
