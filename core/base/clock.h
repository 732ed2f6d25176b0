// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace plimsoll {

/// Seconds since the epoch, as records carry them.
inline double wall_clock() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace plimsoll
