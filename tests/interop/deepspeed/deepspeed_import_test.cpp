// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "tests/support/random_plans.h"

namespace plimsoll {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// The same but for the last digits of numbers.
bool alike(const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) {
        const double x = a.get<double>(), y = b.get<double>();
        return std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
    }
    if (a.is_object() && b.is_object()) {
        if (a.size() != b.size()) return false;
        for (const auto& [key, value] : a.items()) {
            if (!b.contains(key) || !alike(value, b.at(key))) return false;
        }
        return true;
    }
    return a == b;
}

/// What the file has no keys for.
Plan base_of(const Plan& plan) {
    Plan base;
    base.name = plan.name;
    base.model = plan.model;
    base.cluster = plan.cluster;
    base.data = plan.data;
    base.exports = plan.exports;
    base.layout.pp = plan.layout.pp;
    base.layout.cp = plan.layout.cp;
    base.layout.tp = plan.layout.tp;
    base.layout.ep = plan.layout.ep;
    base.layout.dp = plan.layout.dp;
    base.layout.sequence_parallel = plan.layout.sequence_parallel;
    base.layout.schedule = plan.layout.schedule;
    base.layout.recompute = plan.layout.recompute;
    base.training.steps = plan.training.steps;
    base.optimizer.kind = plan.optimizer.kind;
    return base;
}

TEST(DeepSpeedImportTest, FiveHundredRandomPlansComeBackInWhatDeepSpeedCanSay) {
    RandomPlans plans(20261130);
    std::set<std::string> schedules;
    int own = 0;
    for (int i = 0; i < 500; ++i) {
        const Plan plan = plans.next();
        const auto exported = export_deepspeed(plan);
        ASSERT_TRUE(exported) << exported.error().message;
        SCOPED_TRACE(fmt::format("plan {}: {}", i, exported->json.dump()));
        const auto imported = import_deepspeed(exported->json, base_of(plan), "ds.json");
        ASSERT_TRUE(imported) << imported.error().message;
        const Plan& back = imported->plan;
        EXPECT_EQ(back.layout.dp, plan.layout.dp);
        EXPECT_EQ(back.layout.tp, plan.layout.tp);
        EXPECT_EQ(back.layout.micro_batch, plan.layout.micro_batch);
        EXPECT_EQ(back.layout.accumulation, plan.layout.accumulation);
        EXPECT_EQ(back.layout.offload_optimizer, plan.layout.offload_optimizer);
        EXPECT_EQ(back.layout.offload_parameters, plan.layout.offload_parameters);
        EXPECT_EQ(back.layout.recompute, plan.layout.recompute);
        EXPECT_EQ(back.layout.zero_stage,
                  plan.numerics.dtype != Dtype::Fp32 && plan.layout.zero_stage == 0 ? 1 : plan.layout.zero_stage);
        EXPECT_EQ(back.numerics.dtype, plan.numerics.dtype);
        EXPECT_EQ(back.numerics.fp32_gradients, plan.numerics.fp32_gradients);
        EXPECT_EQ(back.optimizer.kind, plan.optimizer.kind);
        EXPECT_EQ(back.optimizer.clip, plan.optimizer.clip);
        if (exported->json.contains("optimizer")) {
            EXPECT_DOUBLE_EQ(back.optimizer.lr, plan.optimizer.lr);
            EXPECT_EQ(back.optimizer.weight_decay, plan.optimizer.weight_decay);
        }
        schedules.insert(exported->json.at("scheduler").at("type"));
        if (name_of(plan.lr.kind).starts_with("deepspeed/")) {
            EXPECT_EQ(back.lr.kind, plan.lr.kind);
            ++own;
        }
        const auto again = export_deepspeed(back);
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_TRUE(alike(again->json, exported->json)) << again->json.dump();
    }
    EXPECT_EQ(schedules.size(), 4U);
    EXPECT_GT(own, 20);
}

TEST(DeepSpeedImportTest, ExportsOfRandomPlansHaveNoTroubleToLint) {
    RandomPlans plans(7);
    for (int i = 0; i < 500; ++i) {
        const Plan plan = plans.next();
        const auto exported = export_deepspeed(plan);
        ASSERT_TRUE(exported);
        DeepSpeedLaunch launch = deepspeed_launch(plan);
        launch.parameters = 0;
        const auto lint = lint_deepspeed(exported->json.dump(), "ds.json", launch);
        ASSERT_TRUE(lint) << lint.error().message;
        for (const DeepSpeedFinding& each : lint->findings) {
            // The end of the cosine before 0.19.3 is a note of the export; a key may be newer than a release that was
            // not looked at.
            const bool known = each.rule == "cosine-end" || each.rule == "newer-key" || each.rule == "first-rate";
            EXPECT_TRUE(each.level == DeepSpeedFinding::Level::Note || known)
                << each.rule << " " << each.key << ": " << each.sentence << "\n"
                << exported->json.dump();
            EXPECT_NE(each.level, DeepSpeedFinding::Level::Refused) << each.key << each.sentence;
        }
    }
}

TEST(DeepSpeedImportTest, UnknownKeysAreKeptInThePlansDocumentAndExportedAgain) {
    const Json file = Json::parse(R"({"train_micro_batch_size_per_gpu": 4, "my_key": {"a": 1}, "steps_per_print": 7,
        "gradient_clipping": 0.5, "zero_optimization": {"stage": 2, "reduce_bucket_size": 1234, "round_robin_gradients": true},
        "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "torch_adam": true}}, "bf16": {"enabled": true}})");
    const auto imported = import_deepspeed(file, *plan_preset("cpu-demo"), "ds.json");
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ(imported->plan.layout.zero_stage, 2);
    EXPECT_EQ(imported->plan.layout.micro_batch, 4);
    const auto loaded = plan_from_json(to_json(imported->plan), "plan.json");
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_THAT(loaded->notes, IsEmpty());
    const auto exported = export_deepspeed(loaded->plan);
    ASSERT_TRUE(exported);
    EXPECT_EQ(exported->json.at("my_key"), file.at("my_key"));
    EXPECT_EQ(exported->json.at("steps_per_print"), 7);
    EXPECT_EQ(exported->json.at("zero_optimization").at("reduce_bucket_size"), 1234);
    EXPECT_EQ(exported->json.at("zero_optimization").at("round_robin_gradients"), true);
    EXPECT_EQ(exported->json.at("optimizer").at("params").at("torch_adam"), true);
}

TEST(DeepSpeedImportTest, WeightCopiesComeBack) {
    Plan plan = RandomPlans(1).next();
    plan.layout = {};
    plan.layout.zero_stage = 2;
    plan.cluster.gpus_per_node = plan.layout.world_size();
    plan.cluster.nodes = 1;
    plan.numerics = {};
    plan.numerics.dtype = Dtype::Bf16;
    plan.optimizer.kind = OptimizerKind::AdamW;
    plan.exports.deepspeed_release = "0.19.8";
    const auto back = [&](const Json& json) {
        const auto imported = import_deepspeed(json, base_of(plan), "ds.json");
        EXPECT_TRUE(imported) << imported.error().message;
        return imported ? imported->plan : Plan();
    };
    plan.numerics.weights = WeightCopies::Pure;
    plan.optimizer.state_dtype = Dtype::Bf16;
    const auto pure = export_deepspeed(plan);
    ASSERT_TRUE(pure) << pure.error().message;
    EXPECT_EQ(pure->json.at("bf16").at("bf16_master_weights_and_grads"), true);
    EXPECT_EQ(pure->json.at("bf16").at("bf16_optimizer_states"), true);
    EXPECT_EQ(back(pure->json).numerics.weights, WeightCopies::Pure);
    EXPECT_EQ(back(pure->json).optimizer.state_dtype, Dtype::Bf16);
    // DeepSpeed keeps such masters in host memory where the optimizer is offloaded.
    Json offloaded = pure->json;
    offloaded["zero_optimization"]["offload_optimizer"] = {{"device", "cpu"}};
    EXPECT_EQ(back(offloaded).numerics.weights, WeightCopies::Masters);

    plan.optimizer.state_dtype = Dtype::Fp32;
    plan.numerics.weights = WeightCopies::Autocast;
    const auto casts = export_deepspeed(plan);
    ASSERT_TRUE(casts) << casts.error().message;
    EXPECT_EQ(casts->json.at("torch_autocast").at("dtype"), "bfloat16");
    EXPECT_EQ(casts->json.at("bf16").at("enabled"), false);
    EXPECT_EQ(back(casts->json).numerics.weights, WeightCopies::Autocast);
    EXPECT_EQ(back(casts->json).numerics.dtype, Dtype::Bf16);

    // Releases before these keys cannot say it.
    plan.exports.deepspeed_release = "0.16.9";
    const auto older = export_deepspeed(plan);
    ASSERT_TRUE(older) << older.error().message;
    EXPECT_FALSE(older->json.contains("torch_autocast"));
    EXPECT_THAT(older->notes, Contains(HasSubstr("numerics.weights autocast is not in the file")));
}

TEST(DeepSpeedImportTest, TheBatchGivesTheRanks) {
    const Json file = Json::parse(
        R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 2})");
    const auto imported = import_deepspeed(file, *plan_preset("cpu-demo"), "ds.json");
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ(imported->plan.layout.dp, 16);
    EXPECT_EQ(imported->plan.cluster.world_size(), 16);
}

TEST(DeepSpeedImportTest, WrongValuesAreErrorsThatNameTheKey) {
    const auto message = [](const char* text) {
        const auto imported = import_deepspeed(Json::parse(text), *plan_preset("cpu-demo"), "ds.json");
        return imported ? std::string("read") : imported.error().message;
    };
    EXPECT_THAT(message(R"({"train_micro_batch_size_per_gpu": "8"})"), HasSubstr("train_micro_batch_size_per_gpu"));
    EXPECT_THAT(message(R"({"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2})"), HasSubstr("is not"));
    EXPECT_THAT(message(R"({"zero_optimization": {"stage": 9}})"), HasSubstr("zero_stage"));
    EXPECT_THAT(message(R"({"zero_optimization": {"stage": 3, "offload_param": {"device": "disk"}}})"),
                HasSubstr("none, cpu or nvme"));
    EXPECT_THAT(message(R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})"), HasSubstr("exclude"));
    EXPECT_THAT(message(R"({"optimizer": {"type": "AdamW", "params": {"betas": [1]}}})"), HasSubstr("betas"));
    EXPECT_THAT(message("[]"), HasSubstr("is an object"));
    EXPECT_THAT(message(R"({"train_batch_size": 9000000000000000000})"), HasSubstr("makes no sense"));
}

TEST(DeepSpeedImportTest, WhatThePlanCannotSayIsANote) {
    const auto imported = import_deepspeed(
        Json::parse(R"({"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "Lion", "params": {"lr": 1e-4}}})"),
        *plan_preset("cpu-demo"), "ds.json");
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_THAT(imported->notes, Contains(HasSubstr("optimizer.type lion has no counterpart")));
    const auto exported = export_deepspeed(imported->plan);
    ASSERT_TRUE(exported);
    EXPECT_EQ(exported->json.at("optimizer"), Json::parse(R"({"type": "Lion", "params": {"lr": 1e-4}})"));
}

}  // namespace
}  // namespace plimsoll
