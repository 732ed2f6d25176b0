// SPDX-License-Identifier: Apache-2.0
// Another number of GPUs or ranks for a plan, with the layout that follows from it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// `gpus` GPUs in all: tp, pp and cp stay, dp takes the rest, and the global batch stays where it divides. Machines are
/// filled as the plan says (8 GPUs each where one machine of the plan is too small). What else had to change goes to
/// `notes`, a sentence each.
Result<Plan> with_gpus(Plan plan, std::int64_t gpus, std::vector<std::string>& notes);

/// `ranks` data-parallel ranks on this machine, with the same global batch.
Result<Plan> with_ranks(Plan plan, std::int64_t ranks);

}  // namespace plimsoll
