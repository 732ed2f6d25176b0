// SPDX-License-Identifier: Apache-2.0
// Why a plan does not fit.
#pragma once

#include "core/remedies/remedies.h"

namespace plimsoll {

/// "Needs 112 GiB …": what dominates the fullest rank and why.
std::string why_words(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
