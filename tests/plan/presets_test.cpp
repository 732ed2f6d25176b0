// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/plan/checks/check_plan.h"
#include "core/plan/parameters.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/starting_plan.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ModelPresets, AreListedByFamilyFromSmallToLarge) {
    EXPECT_THAT(
        model_preset_names(),
        ElementsAre("gpt2-tiny", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt-3-175b", "llama-tiny", "llama-7b",
                    "llama-3-8b", "llama-13b", "llama-33b", "llama-65b", "llama-2-70b", "llama-3-70b", "llama-3-405b",
                    "mistral-7b", "mixtral-8x7b", "qwen2.5-7b", "qwen2.5-72b", "t5-11b"));
}

TEST(ModelPresets, HaveTheParametersOfTheModelsTheyAreNamedAfter) {
    // tests/oracles/param_counts.json; the tiny ones are this project's own, counted by hand below.
    const std::map<std::string, std::int64_t> expected{
        {"gpt2", 124'439'808},
        {"gpt2-medium", 354'823'168},
        {"gpt2-large", 774'030'080},
        {"gpt2-xl", 1'557'611'200},
        {"gpt-3-175b", 174'604'259'328},
        {"llama-7b", 6'738'415'616},
        {"llama-13b", 13'015'864'320},
        {"llama-33b", 32'528'943'616},
        {"llama-65b", 65'285'660'672},
        {"llama-2-70b", 68'976'648'192},
        {"llama-3-8b", 8'030'261'248},
        {"llama-3-70b", 70'553'706'496},
        {"llama-3-405b", 405'853'388'800},
        {"mistral-7b", 7'241'732'096},
        {"mixtral-8x7b", 46'702'792'704},
        {"qwen2.5-7b", 7'615'616'512},
        {"qwen2.5-72b", 72'706'203'648},
        {"t5-11b", 11'307'321'344},
        // 2 x 256 x 128 + 4 x (2 x 128 x 128 + 2 x 128 x 64 + 3 x 128 x 344 + 2 x 128) + 128
        {"llama-tiny", 791'680},
        // (256 + 1024) x 128 + 4 x (4 x (128 x 128 + 128) + 2 x 128 x 512 + 512 + 128 + 4 x 128) + 2 x 128
        {"gpt2-tiny", 957'184}};
    std::map<std::string, std::int64_t> found;
    for (const std::string& name : model_preset_names()) {
        const Result<Model> model = model_preset(name);
        ASSERT_TRUE(model) << model.error().message;
        EXPECT_EQ(model->preset, name);
        EXPECT_FALSE(model->name.empty());
        found[name] = count_parameters(*model).total;
    }
    EXPECT_EQ(found, expected);
}

TEST(ModelPresets, EachStartsAPossiblePlan) {
    for (const std::string& name : model_preset_names()) {
        const Result<LoadedPlan> loaded = plan_from_argument(name);
        ASSERT_TRUE(loaded) << loaded.error().message;
        for (const Problem& problem : check_plan(loaded->plan)) ADD_FAILURE() << name << ": " << problem.sentence;
        EXPECT_EQ(loaded->plan.name, loaded->plan.model.name);
    }
}

TEST(ModelPresets, AnUnknownOneNamesTheNearestAndAll) {
    EXPECT_THAT(
        model_preset("llama-7").error().message,
        HasSubstr("there is no model preset \"llama-7\" (did you mean \"llama-7b\"?); there are: gpt2-tiny, gpt2"));
}

TEST(PlanPresets, AreThere) {
    EXPECT_THAT(plan_preset_names(), ElementsAre("cpu-demo", "gpt2-1x4090", "llama-2-70b-64xh100", "llama-3-8b-8xh100",
                                                 "llama-7b-4xa100", "mixtral-8x7b-64xh100"));
}

TEST(PlanPresets, ArePossibleAndNamed) {
    for (const std::string& name : plan_preset_names()) {
        const Result<Plan> plan = plan_preset(name);
        ASSERT_TRUE(plan) << plan.error().message;
        for (const Problem& problem : check_plan(*plan)) ADD_FAILURE() << name << ": " << problem.sentence;
        EXPECT_FALSE(plan->name.empty());
    }
}

TEST(PlanPresets, CpuDemoTrainsATinyLlamaOnTwoRanksOfThisMachine) {
    const Plan plan = *plan_preset("cpu-demo");
    EXPECT_EQ(plan.model.preset, "llama-tiny");
    EXPECT_EQ(plan.cluster.gpu, "cpu");
    EXPECT_EQ(plan.layout.dp, 2);
    EXPECT_EQ(plan.layout.world_size(), plan.cluster.world_size());
    EXPECT_EQ(plan.numerics.dtype, Dtype::Fp32);
    EXPECT_EQ(plan.data.path, "bible-kjv");
    EXPECT_EQ(plan.training.steps, 300);
}

TEST(PlanPresets, AnUnknownOneNamesTheNearest) {
    EXPECT_THAT(plan_preset("cpudemo").error().message, HasSubstr("(did you mean \"cpu-demo\"?)"));
}

}  // namespace
}  // namespace plimsoll
