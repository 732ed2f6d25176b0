// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/schedule/schedule.h"

namespace plimsoll {
namespace {

std::string written(const std::vector<PipelineOp>& ops) {
    std::string text;
    for (const auto& op : ops) text += (op.kind == OpKind::Forward ? "F" : "B") + std::to_string(op.micro_batch) + " ";
    return text;
}

TEST(MakeSchedule, GPipeRunsAllForwardsThenAllBackwards) {
    const auto schedule = make_schedule(Schedule::GPipe, 3, 2);
    ASSERT_TRUE(schedule);
    for (const auto& ops : schedule->ops) EXPECT_EQ(written(ops), "F0 F1 B0 B1 ");
}

// Narayanan et al. 2021 (Megatron-LM), figure 4, top: 4 devices, 8 micro-batches.
TEST(MakeSchedule, OneFOneBWarmsUpThenAlternates) {
    const auto schedule = make_schedule(Schedule::OneFOneB, 4, 8);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(written(schedule->ops[0]), "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7 ");
    EXPECT_EQ(written(schedule->ops[3]), "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 ");
}

TEST(MakeSchedule, FewerMicroBatchesThanStages) {
    const auto schedule = make_schedule(Schedule::OneFOneB, 4, 2);
    ASSERT_TRUE(schedule);
    EXPECT_EQ(written(schedule->ops[0]), "F0 F1 B0 B1 ");
    EXPECT_EQ(written(schedule->ops[2]), "F0 F1 B0 B1 ");
    EXPECT_EQ(written(schedule->ops[3]), "F0 B0 F1 B1 ");
}

TEST(MakeSchedule, RefusesWhatCannotBeLaidOut) {
    EXPECT_NE(make_schedule(Schedule::GPipe, 0, 1).error().message.find("layout.pp"), std::string::npos);
    EXPECT_NE(make_schedule(Schedule::GPipe, 1, 0).error().message.find("layout.accumulation"), std::string::npos);
    const auto huge = make_schedule(Schedule::OneFOneB, 2147483647, 2147483647);
    ASSERT_FALSE(huge);
    EXPECT_EQ(huge.error().kind, Error::Kind::BadInput);
}

}  // namespace
}  // namespace plimsoll
