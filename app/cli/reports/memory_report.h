// SPDX-License-Identifier: Apache-2.0
// A memory estimate as text for a terminal.
#pragma once

#include <string>

#include "core/estimate/estimate.h"

namespace plimsoll::cli {

/// Title, a table for each kind of stage with its stacked bar, the verdict and the rules of thumb. `sources` adds the
/// source of each formula.
std::string memory_report(const MemoryEstimate& estimate, const Plan& plan, bool sources);

/// "dp 4 · ZeRO-2 · micro-batch 1 × 128 · bf16 · …"
std::string layout_line(const Plan& plan);

}  // namespace plimsoll::cli
