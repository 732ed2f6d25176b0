// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "core/plan/presets.h"
#include "tests/run/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class TrainableTest : public RunTest {
protected:
    void expect_refused(const std::string& words) {
        const auto trainable = require_trainable(plan);
        ASSERT_FALSE(trainable) << words;
        EXPECT_EQ(trainable.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(trainable.error().message, HasSubstr(words));
    }
};

TEST_F(TrainableTest, DenseDecodersWithDataParallelismAreTrained) {
    EXPECT_TRUE(require_trainable(plan));
    for (const char* preset : {"llama-tiny", "gpt2-tiny"}) {
        const auto model = model_preset(preset);
        ASSERT_TRUE(model) << model.error().message;
        plan.model = *model;
        for (const Recompute recompute : {Recompute::None, Recompute::Selective, Recompute::Full}) {
            plan.layout.recompute = recompute;
            const auto trainable = require_trainable(plan);
            EXPECT_TRUE(trainable) << trainable.error().message;
        }
    }
}

TEST_F(TrainableTest, EachMissingPartIsNamedWithWhatToSet) {
    const Plan good = plan;
    plan.layout.tp = 2;
    expect_refused("layout.tp=1");
    plan = good;
    plan.layout.pp = 2;
    expect_refused("layout.pp=1");
    plan = good;
    plan.layout.cp = 2;
    expect_refused("layout.cp=1");
    plan = good;
    plan.layout.ep = 2;
    expect_refused("layout.ep=1");
    plan = good;
    plan.layout.zero_stage = 3;
    expect_refused("layout.zero_stage=0");
    plan = good;
    plan.layout.offload_optimizer = Offload::Cpu;
    expect_refused("layout.offload_optimizer");
    plan = good;
    plan.model.family = Family::T5;
    expect_refused("encoder-decoder");
    plan = good;
    plan.model.num_experts = 8;
    expect_refused("8 experts");
    plan = good;
    plan.model.activation = Activation::GeGlu;
    expect_refused("not geglu");
    plan = good;
    plan.model.vocab_size = 255;
    expect_refused("set model.vocab_size to 256 or more");
    plan = good;
    plan.data.sequence_length = plan.model.max_position + 1;
    expect_refused("data.sequence_length");
    plan = good;
    plan.cluster.nodes = 2;
    expect_refused("cluster.nodes=1");
}

TEST_F(TrainableTest, StartIsCheckedBeforeAnythingIsMade) {
    EXPECT_TRUE(check_start(plan, folder / "not/there/yet"));
    plan.training.keep_checkpoints = 1'000'000;
    plan.training.steps = 1'000'000;
    plan.training.checkpoint_every = 1;
    const auto full = check_start(plan, folder / "not/there/yet");
    ASSERT_FALSE(full);
    EXPECT_EQ(full.error().kind, Error::Kind::BadInput);
    EXPECT_THAT(full.error().message, HasSubstr("the disk is too full"));
}

TEST_F(TrainableTest, MoreThreadsThanCoresIsAWarningNotAnError) {
    plan.training.threads = 1000;
    ASSERT_EQ(start_warnings(plan).size(), 1U);
    EXPECT_THAT(start_warnings(plan)[0], HasSubstr("share"));
}

}  // namespace
}  // namespace plimsoll
