// SPDX-License-Identifier: Apache-2.0
#include "core/frameworks/error_model.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(ErrorModel, ProbabilityFallsWithTheRoomThatIsLeft) {
    for (const auto framework : frameworks) {
        double before = 1;
        for (Bytes usable = 20 * GiB; usable <= 200 * GiB; usable += GiB) {
            const double now = out_of_memory_probability(framework, 80 * GiB, usable, true);
            EXPECT_LE(now, before);
            EXPECT_GE(now, 0);
            before = now;
        }
        EXPECT_LT(before, 0.01);
    }
}

TEST(ErrorModel, EndsOfTheIntervalAreTheOuterQuantiles) {
    const auto interval = interval_of(Framework::Megatron, 100 * GiB, true);
    EXPECT_NEAR(out_of_memory_probability(Framework::Megatron, 100 * GiB, interval.low, true), 0.975, 1e-6);
    EXPECT_NEAR(out_of_memory_probability(Framework::Megatron, 100 * GiB, interval.high, true), 0.025, 1e-6);
    EXPECT_GT(samples_of(Framework::Megatron, true), 100);
}

TEST(ErrorModel, NothingNeedsNothing) {
    EXPECT_EQ(out_of_memory_probability(Framework::Plimsoll, 0, GiB, true), 0);
    EXPECT_EQ(out_of_memory_probability(Framework::Plimsoll, GiB, 0, true), 1);
}

}  // namespace
}  // namespace plimsoll
