// SPDX-License-Identifier: Apache-2.0
// Expected values: runtime/lr_schedules.py of DeepSpeed 0.19.8. interop_deepspeed_accepts runs its classes on the
// exports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_export.h"

namespace plimsoll {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

DeepSpeedExport export_with(LrKind kind, std::int64_t warmup, double min_ratio, const std::string& release = "0.19.8") {
    Plan plan;
    plan.optimizer.lr = 4e-4;
    plan.lr.kind = kind;
    plan.lr.warmup_steps = warmup;
    plan.lr.min_ratio = min_ratio;
    plan.training.steps = 300;
    plan.exports.deepspeed_release = release;
    auto exported = export_deepspeed(plan);
    EXPECT_TRUE(exported) << exported.error().message;
    return exported.value_or(DeepSpeedExport{});
}

TEST(DeepSpeedScheduler, CosineKeepsItsWarmupFloorAndLength) {
    const Json json = export_with(LrKind::Cosine, 20, 0.1).json;
    EXPECT_EQ(json.at("scheduler"), Json::parse(R"({"type": "WarmupCosineLR", "params": {"total_num_steps": 300,
        "warmup_min_ratio": 0.05, "warmup_num_steps": 20, "cos_min_ratio": 0.1, "warmup_type": "linear"}})"));
    EXPECT_EQ(json.at("optimizer").at("params").at("lr"), 4e-4) << "WarmupCosineLR takes its peak from the optimizer";
}

TEST(DeepSpeedScheduler, ConstantIsAWarmupThatStaysAtThePeak) {
    EXPECT_EQ(export_with(LrKind::Constant, 20, 0.1).json.at("scheduler"),
              Json::parse(R"({"type": "WarmupLR", "params": {
        "warmup_min_lr": 2e-05, "warmup_max_lr": 4e-04, "warmup_num_steps": 20, "warmup_type": "linear"}})"));
}

TEST(DeepSpeedScheduler, WithoutWarmupTheRateStartsAtThePeak) {
    for (const std::int64_t warmup : {0, 1}) {
        const Json params = export_with(LrKind::Constant, warmup, 0).json.at("scheduler").at("params");
        EXPECT_EQ(params.at("warmup_min_lr"), 4e-4);
        EXPECT_EQ(params.at("warmup_max_lr"), 4e-4);
        EXPECT_EQ(params.at("warmup_num_steps"), 2) << "DeepSpeed refuses 0 and takes 2 for 1";
        EXPECT_EQ(export_with(LrKind::Cosine, warmup, 0).json.at("scheduler").at("params").at("warmup_min_ratio"), 1);
    }
}

// WarmupDecayLR: min_lr + (max_lr - min_lr) x gamma, and gamma falls to 0 at total_num_steps.
TEST(DeepSpeedScheduler, LinearFallsToItsFloorAtTheLastStep) {
    const DeepSpeedExport exported = export_with(LrKind::Linear, 20, 0.25);
    EXPECT_EQ(exported.json.at("scheduler"), Json::parse(R"({"type": "WarmupDecayLR", "params": {"total_num_steps": 300,
        "warmup_min_lr": 1e-04, "warmup_max_lr": 4e-04, "warmup_num_steps": 20, "warmup_type": "linear"}})"));
    EXPECT_THAT(exported.notes, Contains(HasSubstr("one lowest rate")));
    EXPECT_THAT(exported.notes, Not(Contains(HasSubstr("first three updates are a warmup"))));
    EXPECT_EQ(export_with(LrKind::Linear, 20, 0).json.at("scheduler").at("params").at("warmup_min_lr"), 0);
    EXPECT_THAT(export_with(LrKind::Linear, 0, 0).notes, Contains(HasSubstr("first three updates are a warmup")));
}

TEST(DeepSpeedScheduler, ItsOwnSchedulesGoThroughAsTheyAre) {
    Plan plan;
    plan.optimizer.lr = 4e-4;
    plan.lr.kind = LrKind::DeepSpeedWarmupDecay;
    plan.lr.warmup_shape = LrShape::Log;
    plan.lr.warmup_fraction = 0.1;
    plan.lr.warmup_start_ratio = 0.25;
    const auto decay = export_deepspeed(plan);
    ASSERT_TRUE(decay);
    EXPECT_EQ(decay->json.at("scheduler"), Json::parse(R"({"type": "WarmupDecayLR", "params": {
        "warmup_min_lr": 1e-04, "warmup_max_lr": 4e-04, "warmup_num_steps": 30, "warmup_type": "log",
        "total_num_steps": 300}})"));
    EXPECT_THAT(decay->notes, Not(Contains(HasSubstr("trails"))));
    plan.lr.kind = LrKind::DeepSpeedOneCycle;
    plan.lr.decay_steps = 5;
    plan.lr.decay_rate = 0.5;
    const auto cycle = export_deepspeed(plan);
    ASSERT_TRUE(cycle);
    EXPECT_EQ(cycle->json.at("scheduler"), Json::parse(R"({"type": "OneCycle", "params": {"cycle_min_lr": 1e-04,
        "cycle_max_lr": 4e-04, "cycle_first_step_size": 30, "cycle_second_step_size": 30, "decay_step_size": 5,
        "decay_lr_rate": 0.5, "cycle_momentum": false}})"));
}

TEST(DeepSpeedScheduler, WhatItHasNotBecomesTheNearestWithANote) {
    const DeepSpeedExport wsd = export_with(LrKind::Wsd, 20, 0.1), guide = export_with(LrKind::Guide, 20, 0.1);
    EXPECT_EQ(wsd.json.at("scheduler").at("type"), "WarmupLR");
    EXPECT_THAT(wsd.notes, Contains(HasSubstr("no schedule like lr.kind wsd: WarmupLR is the nearest")));
    EXPECT_EQ(guide.json.at("scheduler").at("type"), "WarmupCosineLR");
    EXPECT_THAT(export_with(LrKind::Cosine, 20, 0.1).notes, Not(Contains(HasSubstr("no schedule like"))));
}

TEST(DeepSpeedScheduler, OldReleasesAreNotToRunPastTheCosine) {
    EXPECT_THAT(export_with(LrKind::Cosine, 20, 0, "0.19.2").notes,
                Contains(HasSubstr("raises the learning rate again")));
    EXPECT_THAT(export_with(LrKind::Cosine, 20, 0, "0.19.3").notes,
                Not(Contains(HasSubstr("raises the learning rate again"))));
}

}  // namespace
}  // namespace plimsoll
