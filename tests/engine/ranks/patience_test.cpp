// SPDX-License-Identifier: Apache-2.0
#include "core/engine/base/patience.h"

#include <gtest/gtest.h>

#include <thread>

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Seconds until the deadline passes, asked a hundred times a second; at most 3.
double patience_of(const Patience& patience) {
    const auto begin = Clock::now();
    const auto waited = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
    Deadline deadline(patience);
    while (waited() < 3 && !deadline.passed()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return waited();
}

/// Processor seconds of somebody who computes for `works` seconds from now on, with `share` of a processor.
auto worker(double works, double share) {
    return [begin = Clock::now(), works, share] {
        return share * std::min(works, std::chrono::duration<double>(Clock::now() - begin).count());
    };
}

TEST(Patience, SilenceAndIdlenessAreGivenUpAtTheLimit) {
    EXPECT_NEAR(patience_of({0.4, {}}), 0.4, 0.2) << "nobody can tell what the others do";
    EXPECT_NEAR(patience_of({0.4, [] { return Pulses{}; }}), 0.4, 0.2) << "the store is out of reach";
    EXPECT_NEAR(patience_of({0.4, [] { return Pulses{12.5, 3}; }}), 0.4, 0.2);
}

TEST(Patience, ARankThatComputesIsWaitedForHoweverLongItTakes) {
    const auto busy = worker(60, 1);
    EXPECT_GE(patience_of({0.4, [&] { return Pulses{7, busy()}; }}), 3);
    // A tenth of a processor is enough: the machine may be busy with other things.
    const auto slow = worker(60, 0.1);
    EXPECT_GE(patience_of({0.4, [&] { return Pulses{slow(), 7}; }}), 3);
}

TEST(Patience, ARankThatStopsComputingIsGivenUpWithinAnotherLimit) {
    const auto stops = worker(1, 1);
    const double waited = patience_of({0.4, [&] { return Pulses{stops()}; }});
    EXPECT_GE(waited, 1);
    EXPECT_LE(waited, 1.8);
}

TEST(Patience, WhatARankUsesWhileItWaitsIsNoWork) {
    const auto waiting = worker(60, 0.001);
    EXPECT_NEAR(patience_of({0.4, [&] { return Pulses{waiting()}; }}), 0.4, 0.2);
}

}  // namespace
}  // namespace plimsoll::engine
