// SPDX-License-Identifier: Apache-2.0
#include "core/control/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::StartsWith;

TEST(Fault, KindsAndSettings) {
    const auto faults =
        parse_faults("nan@step=5,layer=-1,where=backward;slow-rank@rank=1,ms=20;spike@step=7,factor=50,batches=3");
    ASSERT_TRUE(faults) << faults.error().message;
    ASSERT_EQ(faults->size(), 3U);
    const Fault &nan = (*faults)[0], &slow = (*faults)[1], &spike = (*faults)[2];
    EXPECT_EQ(nan.kind, FaultKind::Nan);
    EXPECT_EQ(nan.step, 5);
    EXPECT_EQ(nan.layer, -1);
    EXPECT_TRUE(nan.backward);
    EXPECT_EQ(slow.rank, 1);
    EXPECT_EQ(slow.milliseconds, 20);
    EXPECT_EQ(spike.factor, 50);
    EXPECT_EQ(spike.batches, 3);
    EXPECT_TRUE(parse_faults("")->empty());
    EXPECT_EQ(parse_faults("oom")->front().step, 1);
}

TEST(Fault, WhatCannotBeReadIsNamed) {
    EXPECT_THAT(parse_faults("nam@step=5").error().message, StartsWith("\"nam\" is no fault"));
    for (const char* bad : {"step=0", "step=x", "step=1.5", "layer=-2", "where=up", "colour=1", "factor=0", "step", ""})
        EXPECT_THAT(parse_faults("nan@" + std::string(bad)).error().message,
                    StartsWith("\"" + std::string(bad) + "\" does not set a fault"));
}

TEST(Fault, StaysInTheBatchesThatItWasMetIn) {
    FaultPlace place(parse_faults("nan@step=5,batches=2")->front());
    EXPECT_FALSE(place.meets(4, 24, 8));
    EXPECT_TRUE(place.meets(5, 32, 8));
    EXPECT_TRUE(place.meets(5, 40, 8)) << "skipped to the second";
    EXPECT_FALSE(place.meets(5, 48, 8));
    EXPECT_FALSE(place.meets(3, 16, 8)) << "rolled back";
    EXPECT_TRUE(place.meets(4, 32, 8)) << "and there again";
    FaultPlace slow(parse_faults("slow-rank@step=3")->front());
    EXPECT_FALSE(slow.meets(2, 8, 8));
    EXPECT_TRUE(slow.meets(100, 800, 8));
}

}  // namespace
}  // namespace plimsoll
