// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient_norms.h"

#include <algorithm>

namespace plimsoll::engine {

double clip_factor(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace plimsoll::engine
