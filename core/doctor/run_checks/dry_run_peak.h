// SPDX-License-Identifier: Apache-2.0
// The operations whose tensors make up a rank's peak, by a dry run of the engine.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll::doctor {

/// Sentences with the phase of the peak and the ops that allocated most of the memory at the peak. Empty where this
/// build has no engine or no dry run of the plan is possible. Starts a process, which takes up to some seconds.
std::vector<std::string> dry_run_peak(const Plan& plan, int rank);

}  // namespace plimsoll::doctor
