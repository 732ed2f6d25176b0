// SPDX-License-Identifier: Apache-2.0
// How the work of a reader grows with its input, as a ratio within one run: no wall time is compared with a constant.
#pragma once

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <functional>
#include <limits>

namespace plimsoll {

/// CPU time of `work` for four times the size over that for `size`, the least of three each: about 4 where the work grows
/// with the size, 16 where it grows with its square. `prepare` makes the input of a size outside of the measurement.
template <class Input>
double growth(std::size_t size, const std::function<Input(std::size_t)>& prepare,
              const std::function<void(const Input&)>& work) {
    const auto least = [&](std::size_t n) {
        const Input input = prepare(n);
        double seconds = std::numeric_limits<double>::infinity();
        for (int i = 0; i < 3; ++i) {
            const std::clock_t start = std::clock();
            work(input);
            seconds = std::min(seconds, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
        }
        return std::max(seconds, 1e-5);
    };
    return least(4 * size) / least(size);
}

/// Between 4 and 16: linear work with the noise of caches and allocators lies below.
inline constexpr double quadratic_growth = 9;

}  // namespace plimsoll
