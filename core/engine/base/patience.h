// SPDX-License-Identifier: Apache-2.0
// How long a rank waits for others: until they are silent and idle, for a rank that computes is alive, however long its
// step takes.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "core/base/units.h"

namespace plimsoll::engine {

/// Seconds of processor time that each of the others has used so far, by its own account; empty where nobody can tell.
using Pulses = std::vector<double>;

struct Patience {
    Seconds limit = 0;               ///< of silence and idleness
    std::function<Pulses()> pulses;  ///< may take a while; empty: silence alone counts
};

/// Of one wait. The patience outlives it.
class Deadline {
public:
    explicit Deadline(const Patience& patience) : patience_(patience) {}

    /// To be asked several times while half the limit goes by. Once the limit is reached, the others' processor time is
    /// compared with that at its half: who has used a hundredth of the time between computes, and the wait goes on for
    /// another half.
    bool passed();

private:
    using Clock = std::chrono::steady_clock;
    void look(Clock::time_point now);

    const Patience& patience_;
    Clock::time_point begin_ = Clock::now();
    bool seen_any_ = false;
    Clock::time_point seen_at_;
    Pulses seen_;
};

}  // namespace plimsoll::engine
