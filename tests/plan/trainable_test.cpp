// SPDX-License-Identifier: Apache-2.0
#include "core/plan/trainable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class Trainable : public ::testing::Test {
protected:
    Plan plan = plan_from_argument("cpu-demo")->plan;

    void expect_refused(const std::string& words) {
        const auto trainable = require_trainable(plan);
        ASSERT_FALSE(trainable) << words;
        EXPECT_EQ(trainable.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(trainable.error().message, HasSubstr(words));
    }
};

TEST_F(Trainable, DecodersAreTrained) {
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

TEST_F(Trainable, EveryLayoutIsTrained) {
    for (const char* setting :
         {"layout.tp=2", "layout.pp=2", "layout.cp=2", "layout.zero_stage=3", "layout.sequence_parallel=true",
          "optimizer.kind=lamb", "layout.loss_chunks=4", "layout.offload_parameters=nvme"}) {
        const auto changed = with_settings(plan, {setting});
        ASSERT_TRUE(changed) << changed.error().message;
        const auto trainable = require_trainable(*changed);
        EXPECT_TRUE(trainable) << setting << ": " << trainable.error().message;
    }
    plan.model = model_preset("mixtral-8x7b").value();
    plan.layout.ep = 2;
    EXPECT_TRUE(require_trainable(plan));
}

TEST_F(Trainable, EachMissingPartIsNamedWithWhatToSet) {
    const Plan good = plan;
    plan.layout.cp = 3;
    plan.data.sequence_length = 128;
    expect_refused("take 126 or 132");
    plan = good;
    plan.model.family = Family::T5;
    expect_refused("encoder-decoder");
    plan = good;
    plan.model.activation = Activation::GeGlu;
    expect_refused("not geglu");
    plan = good;
    plan.model.vocab_size = 255;
    expect_refused("set model.vocab_size to 256 or more");
    plan = good;
    plan.data.sequence_length = plan.model.max_position + 1;
    expect_refused("data.sequence_length");
}

TEST_F(Trainable, SeveralMachinesAreALaunchersToStartAndNotThisOnes) {
    plan.cluster.nodes = 2;
    EXPECT_TRUE(require_trainable(plan)) << "each rank of torchrun or srun asks this";
    const auto here = require_trainable_here(plan);
    ASSERT_FALSE(here);
    EXPECT_EQ(here.error().kind, Error::Kind::BadInput);
    EXPECT_EQ(here.error().message,
              "the plan spans 2 machines and this starts ranks on one: set cluster.nodes=1, or start "
              "`plimsoll-worker DIR` on each with torchrun --no-python or srun");
    plan.cluster.nodes = 1;
    plan.model.family = Family::T5;
    EXPECT_FALSE(require_trainable_here(plan)) << "what cannot be trained anywhere cannot be trained here";
}

TEST_F(Trainable, CardsThatAreNotHereAreRefusedHereOnly) {
    plan.cluster.gpu = "A100 SXM4 80GB";
    plan.cluster.gpus_per_node = 64;
    EXPECT_TRUE(require_trainable(plan));
    const auto here = require_trainable_here(plan);
    ASSERT_FALSE(here);
    EXPECT_THAT(here.error().message, HasSubstr("the plan is for 64 x A100 SXM4 80GB and this machine has"));
}

}  // namespace
}  // namespace plimsoll
