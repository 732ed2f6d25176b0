// SPDX-License-Identifier: Apache-2.0
// The changes with which a plan fits, as text for a terminal.
#pragma once

#include <string>

#include "core/remedies/remedies.h"

namespace plimsoll::cli {

/// Sentences that say why, a table of the changes (change, saves, time, then), the set, and its settings for --set.
/// `sources` adds reason and source of each change. `call` is the command that estimates the plan with the set.
std::string remedies_report(const Remedies& remedies, const MemoryEstimate& estimate, const std::string& call,
                            bool sources);

}  // namespace plimsoll::cli
