// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/run/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

using StartChecks = RunTest;

TEST_F(StartChecks, StartIsCheckedBeforeAnythingIsMade) {
    EXPECT_TRUE(check_start(plan, folder / "not/there/yet"));
    plan.training.keep_checkpoints = 1'000'000;
    plan.training.steps = 1'000'000;
    plan.training.checkpoint_every = 1;
    const auto full = check_start(plan, folder / "not/there/yet");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, Error::Kind::BadInput);
    EXPECT_THAT(full.error().message, HasSubstr("the disk is too full"));
}

TEST_F(StartChecks, MoreThreadsThanCoresIsAWarningNotAnError) {
    plan.training.threads = 1000;
    ASSERT_EQ(start_warnings(plan).size(), 1U);
    EXPECT_THAT(start_warnings(plan)[0], HasSubstr("share"));
}

}  // namespace
}  // namespace plimsoll
