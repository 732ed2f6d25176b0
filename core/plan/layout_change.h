// SPDX-License-Identifier: Apache-2.0
// Another number of GPUs or ranks for a plan, with the layout that follows from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// What becomes of the global batch under another number of data-parallel ranks.
enum class GlobalBatch {
    Stays,    ///< the error names the nearest numbers of GPUs and the nearest batches where it does not divide
    Follows,  ///< micro_batch and accumulation stay where it does not divide: they are set afterwards
};

/// `gpus` GPUs in all: tp, pp and cp stay, dp takes the rest. Machines are filled as the plan says (8 GPUs each where
/// one machine of the plan is too small). What else had to change goes to `notes`, a sentence each.
Result<Plan> with_gpus(Plan plan, std::int64_t gpus, std::vector<std::string>& notes,
                       GlobalBatch batch = GlobalBatch::Stays);

/// Whether a setting of that key says how the global batch is made up.
bool sets_global_batch(std::string_view key);

/// `ranks` data-parallel ranks on this machine, with the same global batch.
Result<Plan> with_ranks(Plan plan, std::int64_t ranks);

}  // namespace plimsoll
