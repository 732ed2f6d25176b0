// SPDX-License-Identifier: Apache-2.0
// The rules people quote, as they quote them.
#pragma once

#include <cstdint>

#include "core/base/units.h"

namespace plimsoll {

/// "4 N × bytes": weights, gradients and Adam's two moments, all at the dtype's bytes. 7e9 parameters in BF16: 56 GB.
Bytes states_rule(std::int64_t parameters, std::int64_t bytes);

/// "B × L × H × n × (10 to 12) × bytes": B sequences of length L, hidden size H, n layers. The LLaMA-7B example's "160
/// GB" is 32 × 2048 × 4096 × 32 × 10 × 2 B = 160 GiB (171.8 GB).
Bytes activations_rule(std::int64_t sequences, std::int64_t length, std::int64_t hidden, std::int64_t layers,
                       std::int64_t factor, std::int64_t bytes);

}  // namespace plimsoll
