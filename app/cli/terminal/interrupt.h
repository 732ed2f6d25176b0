// SPDX-License-Identifier: Apache-2.0
// Counts Ctrl-C: the first asks for a stop that loses nothing, the second does not wait for the step, the third for
// nothing at all.
#pragma once

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/run/processes/supervisor.h"

namespace plimsoll::cli {

inline std::atomic<int> interrupts{0};

/// What a signal adds. SIGTERM and SIGHUP (the terminal closed) come once from each of several senders, so they are a
/// first Ctrl-C and never a second one; and programs that start this one pass on a Ctrl-C that it has got already.
inline void count_interrupt(int number) {
    static std::atomic<std::int64_t> last_ms{-1000};
    constexpr std::int64_t passed_on_ms = 100;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::int64_t ms = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
    const bool passed_on = ms - last_ms.exchange(ms) < passed_on_ms;
    if (interrupts == 0 || (number == SIGINT && !passed_on)) ++interrupts;
}

/// Counts SIGINT, SIGTERM and SIGHUP from now on.
inline void count_interrupts() {
    static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);
    struct sigaction action {};
    action.sa_handler = &count_interrupt;
    ::sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
}

/// What the signals so far ask of a run.
inline StopWish stop_wish() {
    switch (interrupts.load()) {
        case 0:
            return StopWish::None;
        case 1:
            return StopWish::AfterStep;
        case 2:
            return StopWish::Now;
        default:
            return StopWish::AtOnce;
    }
}

}  // namespace plimsoll::cli
