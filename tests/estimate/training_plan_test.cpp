// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/training_plan.h"

#include <gtest/gtest.h>

#include "core/estimate/estimate.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

Cluster cluster_of(const char* gpu, std::int64_t gpus) {
    Cluster cluster;
    cluster.gpu = gpu;
    cluster.gpus_per_node = gpus;
    return cluster;
}

// ZeRO's own sums (Rajbhandari 2020): 7 B parameters x 16 bytes are 108 GB of states, 27 GB on each of four.
TEST(TrainingPlan, Llama7bFitsOnFourA100InBf16) {
    const Plan plan = training_plan(*model_preset("llama-7b"), cluster_of("A100 SXM4 80GB", 4));
    EXPECT_TRUE(check_plan(plan).empty());
    EXPECT_EQ(plan.numerics.dtype, Dtype::Bf16);
    EXPECT_EQ(plan.layout.dp, 4);
    EXPECT_EQ(plan.layout.zero_stage, 1) << "the least that fits: the optimizer's states alone are too much for one";
    EXPECT_EQ(plan.data.sequence_length, 2048);
    EXPECT_TRUE(estimate_memory(plan)->fits());
}

TEST(TrainingPlan, WhereNothingFitsItTakesTheMostOfEach) {
    const Plan plan = training_plan(*model_preset("llama-7b"), cluster_of("GeForce RTX 4090", 2));
    EXPECT_EQ(plan.layout.zero_stage, 3);
    EXPECT_EQ(plan.layout.recompute, Recompute::Full);
    EXPECT_FALSE(estimate_memory(plan)->fits());
    const Plan alone = training_plan(*model_preset("llama-7b"), cluster_of("GeForce RTX 4090", 1));
    EXPECT_EQ(alone.layout.zero_stage, 0) << "one rank has nobody to share with";
    EXPECT_EQ(alone.layout.recompute, Recompute::Full);
}

TEST(TrainingPlan, GpusWithoutBf16TrainInFp16) {
    EXPECT_EQ(training_plan(*model_preset("gpt2-medium"), cluster_of("V100 SXM2 32GB", 8)).numerics.dtype, Dtype::Fp16);
}

TEST(TrainingPlan, EveryPresetIsPossible) {
    for (const std::string& name : model_preset_names())
        for (const std::int64_t gpus : {1, 8})
            EXPECT_TRUE(check_plan(training_plan(*model_preset(name), cluster_of("H100 SXM5 80GB", gpus))).empty())
                << name << " on " << gpus;
}

}  // namespace
}  // namespace plimsoll
