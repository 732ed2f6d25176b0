// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/check_schedule.h"
#include "core/schedule/generators/make_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string error_of(const PipelineSchedule& schedule) {
    const auto runs = check_schedule(schedule);
    return runs ? "" : runs.error().message;
}

PipelineSchedule one_rank(std::vector<PipelineOp> ops, int micro_batches = 1, int chunks = 1) {
    return {1, micro_batches, chunks, Placement::Loop, {std::move(ops)}};
}

TEST(CheckSchedule, DeadlockNamesTheRankAndTheOp) {
    auto schedule = *make_schedule(Schedule::OneFOneB, {2, 2});
    // Rank 0 wants a gradient before it has sent the micro-batch that rank 1 starts with.
    schedule.ops[0] = {{OpKind::Forward, 0}, {OpKind::Backward, 0}, {OpKind::Forward, 1}, {OpKind::Backward, 1}};
    schedule.ops[1] = {{OpKind::Forward, 1}, {OpKind::Backward, 1}, {OpKind::Forward, 0}, {OpKind::Backward, 0}};
    EXPECT_THAT(error_of(schedule), HasSubstr("rank 0 hangs at its operation 1, the backward of micro-batch 0, because "
                                              "rank 1 never gets to the backward of micro-batch 0"));
}

TEST(CheckSchedule, AnOpBeforeItsOwnNeedIsADeadlock) {
    EXPECT_THAT(error_of(one_rank({{OpKind::Backward, 0}, {OpKind::Forward, 0}})),
                HasSubstr("rank 0 never gets to the forward of micro-batch 0"));
    EXPECT_THAT(error_of(one_rank({{OpKind::Forward, 0}, {OpKind::BackwardWeight, 0}, {OpKind::BackwardInput, 0}})),
                HasSubstr("rank 0 never gets to the input backward of micro-batch 0"));
}

TEST(CheckSchedule, MissingAndRepeatedOpsAreNamed) {
    auto missing = *make_schedule(Schedule::GPipe, {3, 2});
    missing.ops[1].pop_back();
    EXPECT_THAT(error_of(missing), HasSubstr("rank 1 never runs the backward of micro-batch 1"));
    auto half = *make_schedule(Schedule::ZbH1, {3, 2});
    half.ops[2].pop_back();
    EXPECT_THAT(error_of(half), HasSubstr("rank 2 never runs the weight backward of micro-batch 1"));
    auto repeated = *make_schedule(Schedule::GPipe, {3, 2});
    repeated.ops[2][1] = repeated.ops[2][0];
    EXPECT_THAT(error_of(repeated), HasSubstr("rank 2 lists the forward of micro-batch 0 twice"));
    EXPECT_THAT(error_of(one_rank({{OpKind::Forward, 0}, {OpKind::Backward, 0}, {OpKind::BackwardWeight, 0}})),
                HasSubstr("a part of it again"));
}

TEST(CheckSchedule, RefusesListsThatMakeNoSense) {
    EXPECT_THAT(error_of({2, 1, 1, Placement::Loop, {{{OpKind::Forward, 0}, {OpKind::Backward, 0}}}}),
                HasSubstr("one list a rank"));
    EXPECT_THAT(error_of(one_rank({{OpKind::Forward, 7}, {OpKind::Backward, 0}})),
                HasSubstr("forward of micro-batch 7"));
    EXPECT_THAT(error_of(one_rank({{OpKind::Forward, 0, 3}})), HasSubstr("chunks from 0 to 0"));
    EXPECT_THAT(error_of({0, 0, 1, Placement::Loop, {}}), HasSubstr("at least one rank"));
    EXPECT_THAT(error_of({2, 1, 3, Placement::V, {{}, {}}}), HasSubstr("2 chunks a rank"));
    EXPECT_THAT(error_of({1, 2147483647, 1, Placement::Loop, {{}}}), HasSubstr("more than the"));
}

}  // namespace
}  // namespace plimsoll
