// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <fstream>

#include "core/plan/parameters.h"
#include "core/run/start_checks.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/run_fixture.h"

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

TEST_F(StartChecks, StartWeightsAreThere) {
    plan.model.weights = (folder / "llama").string();
    EXPECT_THAT(check_start(plan, folder / "run").error().message, HasSubstr("there is no folder"));
    std::filesystem::create_directories(folder / "llama");
    EXPECT_THAT(check_start(plan, folder / "run").error().message, HasSubstr("holds no .safetensors file"));
    std::ofstream(folder / "llama/model.safetensors") << "weights";
    EXPECT_TRUE(check_start(plan, folder / "run"));
}

TEST_F(StartChecks, CheckpointsThatAreThereNeedNoRoomAgain) {
    const Bytes one = count_parameters(plan.model).total * 12;  // weights and two moments in fp32
    plan.training.steps = 300;
    plan.training.checkpoint_every = 20;
    plan.training.keep_checkpoints = 3;
    EXPECT_EQ(checkpoint_room(plan, folder / "run"), 4 * one) << "three are kept while the next one is written";
    for (int step : {20, 40, 60}) {
        std::filesystem::create_directories(RunLayout(folder / "run").checkpoint(step));
        EXPECT_EQ(checkpoint_room(plan, folder / "run"), (4 - step / 20) * one);
    }
    plan.training.keep_checkpoints = 1;
    EXPECT_EQ(checkpoint_room(plan, folder / "run"), one) << "the next one, before an old one goes";
}

TEST_F(StartChecks, MoreThreadsThanCoresIsAWarningNotAnError) {
    plan.training.threads = 1000;
    ASSERT_EQ(start_warnings(plan).size(), 1U);
    EXPECT_THAT(start_warnings(plan)[0], HasSubstr("share"));
}

TEST_F(StartChecks, ATextShorterThanABatchIsToldWithTheNumbers) {
    plan.training.threads = 1;
    plan.cluster.gpu = "H100 SXM5 80GB";  // no word on this machine's cores
    plan.data.sequence_length = 100;
    plan.data.validation_fraction = 0.1;
    plan.training.validate_every = 10;
    plan.layout.micro_batch = 4;
    plan.layout.accumulation = 2;
    plan.layout.dp = 2;
    EXPECT_TRUE(start_warnings(plan).empty());
    // 16 sequences a batch; 801 bytes are 8 windows of 100 and their targets, and their tenth is no sequence.
    put_contents(folder / "corpus.txt", std::string(801, 'x'));
    const auto warnings = start_warnings(plan);
    ASSERT_EQ(warnings.size(), 2U);
    EXPECT_THAT(warnings[0], HasSubstr("it holds 8 sequences of 100 bytes and a global batch takes 16, so each is in "
                                       "every batch 2 times"));
    EXPECT_THAT(warnings[1],
                HasSubstr("nothing is kept for validation: 10 % (data.validation_fraction) of the text's 801 "
                          "bytes"));
    plan.training.validate_every = 0;
    EXPECT_EQ(start_warnings(plan).size(), 1U);
}

}  // namespace
}  // namespace plimsoll
