// SPDX-License-Identifier: Apache-2.0
// Counts Ctrl-C and similar signals: the first asks for a stop, the second for an end at once.
#pragma once

#include <signal.h>

#include <atomic>

namespace plimsoll::cli {

inline std::atomic<int> interrupts{0};

/// Counts SIGINT, SIGTERM and SIGHUP (the terminal closed) from now on; a closed pipe no longer ends the program.
inline void count_interrupts() {
    static_assert(std::atomic<int>::is_always_lock_free);
    struct sigaction action {};
    action.sa_handler = [](int) { ++interrupts; };
    ::sigemptyset(&action.sa_mask);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
}

}  // namespace plimsoll::cli
