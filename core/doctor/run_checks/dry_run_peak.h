// SPDX-License-Identifier: Apache-2.0
// Which operations' tensors stand at a rank's peak, by a dry run of the engine.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"

namespace plimsoll::doctor {

/// Sentences with the phase of the peak and the ops that allocated most of what stands there. Empty where this build
/// has no engine or the plan cannot be taken dry. Starts a process, which takes up to some seconds.
std::vector<std::string> dry_run_peak(const Plan& plan, int rank);

}  // namespace plimsoll::doctor
