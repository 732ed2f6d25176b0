// SPDX-License-Identifier: Apache-2.0
// What would make a plan fit, as text for a terminal.
#pragma once

#include <string>

#include "core/remedies/remedies.h"

namespace plimsoll::cli {

/// The sentences why, a table of the changes (change, saves, time, then), the set, and the settings to give to --set.
/// `sources` adds reason and source of each change. `call` is the command that
/// estimates the plan with the set.
std::string remedies_report(const Remedies& remedies, const MemoryEstimate& estimate, const std::string& call,
                            bool sources);

}  // namespace plimsoll::cli
