// SPDX-License-Identifier: Apache-2.0
#include "core/step_time/matmul_time.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace plimsoll {

Seconds matmul_time(const Hardware& h, double m, double n, double k, double batch, double bytes, double reached) {
    struct Tile {
        double rows, columns, reaches;
    };
    const auto& e = h.efficiency;
    const std::array tiles{Tile{256, 128, 1}, Tile{128, 256, 1}, Tile{128, 128, e.small_tile},
                           Tile{64, 128, e.smaller_tile}, Tile{64, 64, e.smaller_tile * e.small_tile}};
    double arithmetic = std::numeric_limits<double>::max();
    for (const auto& tile : tiles) {
        const double count = std::ceil(m / tile.rows) * std::ceil(n / tile.columns) * batch;
        const double waves = std::ceil(count / h.processors);
        arithmetic = std::min(arithmetic, waves * h.processors * tile.rows * tile.columns / tile.reaches);
    }
    arithmetic *= 2 * (k + e.inner_ramp) / (h.peak * reached);
    const double moved = bytes * batch * (m * n + n * k + m * k) / (h.memory * e.memory);
    return std::max(arithmetic, moved) + e.kernel;
}

Seconds matmul_time(const Hardware& h, double m, double n, double k, double bytes) {
    return matmul_time(h, m, n, k, 1, bytes, h.efficiency.matmul);
}

Seconds elementwise_time(const Hardware& h, double bytes) { return bytes / (h.memory * h.efficiency.memory); }

}  // namespace plimsoll
