// SPDX-License-Identifier: Apache-2.0
#include "core/engine/base/patience.h"

#include <algorithm>
#include <utility>

namespace plimsoll::engine {

namespace {

/// A rank that waits as well wakes some twenty times a second, which takes less than a thousandth.
constexpr double least_share = 0.01;

double seconds_between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
    return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void Deadline::look(Clock::time_point now) {
    if (patience_.pulses) seen_ = patience_.pulses();
    seen_any_ = true;
    seen_at_ = now;
}

bool Deadline::passed() {
    const auto now = Clock::now();
    const Seconds waited = seconds_between(begin_, now);
    if (waited < patience_.limit) {
        if (!seen_any_ && waited >= patience_.limit / 2) look(now);
        return false;
    }
    if (!patience_.pulses) return true;
    const bool compares = seen_any_;
    const Pulses before = std::exchange(seen_, {});
    const Seconds between = compares ? seconds_between(seen_at_, now) : 0;
    look(now);
    // Who was not asked at the half has to wait for another one.
    bool works = !compares;
    for (std::size_t i = 0; i < std::min(before.size(), seen_.size()); ++i) {
        works = works || seen_[i] - before[i] >= least_share * between;
    }
    if (!works) return true;
    begin_ = now - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(patience_.limit / 2));
    return false;
}

}  // namespace plimsoll::engine
