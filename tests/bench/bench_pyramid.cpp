// SPDX-License-Identifier: Apache-2.0
// Prints what a query of 900 columns costs (no limits are asserted: machines differ).
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "core/telemetry/pyramid.h"

int main() {
    using Clock = std::chrono::steady_clock;
    for (const std::uint64_t size : {10'000UL, 100'000UL, 1'000'000UL}) {
        plimsoll::Pyramid line;
        const auto built = Clock::now();
        for (std::uint64_t step = 0; step < size; ++step) {
            line.append({step, 0, std::sin(static_cast<double>(step) / 1000)});
        }
        const auto start = Clock::now();
        const int rounds = 200;
        double sum = 0;
        for (int i = 0; i < rounds; ++i) sum += line.query(i, static_cast<double>(size) - i * 7, 900)[450].max;
        const auto end = Clock::now();
        const auto in_ms = [](auto duration) { return std::chrono::duration<double, std::milli>(duration).count(); };
        fmt::print("{:>9} points: append all {:.1f} ms, query of 900 columns {:.3f} ms ({:.1f})\n", size,
                   in_ms(start - built), in_ms(end - start) / rounds, sum);
    }
}
