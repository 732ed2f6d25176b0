// SPDX-License-Identifier: Apache-2.0
// Why a plan does not fit.
#pragma once

#include "core/remedies/remedies.h"

namespace plimsoll {

/// "Needs 112 GiB …": the terms that dominate the fullest rank and why they are large.
std::string why_words(const Plan& plan, const MemoryEstimate& estimate);

}  // namespace plimsoll
