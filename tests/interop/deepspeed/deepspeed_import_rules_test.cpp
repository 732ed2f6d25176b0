// SPDX-License-Identifier: Apache-2.0
// What an import makes of a key that says a value, "auto", or nothing, and of a key that the plan has no field for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/deepspeed/deepspeed_import.h"
#include "core/interop/deepspeed/deepspeed_kept_effect.h"
#include "core/interop/deepspeed/facts/deepspeed_schema.h"
#include "core/interop/deepspeed/facts/relaxed_json.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

/// Nothing in it is DeepSpeed's default.
Plan unusual() {
    Plan plan = *plan_preset("cpu-demo");
    plan.model = *model_preset("llama-7b");
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = 4;
    plan.cluster.nodes = 1;
    plan.layout = {};
    plan.layout.dp = 4;
    plan.layout.micro_batch = 3;
    plan.layout.accumulation = 5;
    plan.layout.zero_stage = 2;
    plan.layout.recompute = Recompute::Full;
    plan.numerics.dtype = Dtype::Bf16;
    plan.optimizer.lr = 3e-4;
    plan.optimizer.beta1 = 0.8;
    plan.optimizer.beta2 = 0.95;
    plan.optimizer.eps = 1e-6;
    plan.optimizer.weight_decay = 0.1;
    plan.optimizer.clip = 0.5;
    plan.lr.kind = LrKind::Cosine;
    plan.lr.warmup_steps = 77;
    plan.training.steps = 20'000;
    return plan;
}

DeepSpeedImport imported(const std::string& text, const Plan& base = unusual()) {
    const auto file = parse_relaxed_json(text, "ds.json");
    EXPECT_TRUE(file) << file.error().message;
    const auto read = import_deepspeed(file->json, base, "ds.json");
    EXPECT_TRUE(read) << text << read.error().message;
    return read.value_or(DeepSpeedImport{base, {}});
}

std::string refusal(const std::string& text, const Plan& base = unusual()) {
    const auto read = import_deepspeed(Json::parse(text), base, "ds.json");
    return read ? "read" : read.error().message;
}

Json exported(const Plan& plan) {
    const auto made = export_deepspeed(plan);
    EXPECT_TRUE(made) << made.error().message;
    return made ? made->json : Json::object();
}

TEST(DeepSpeedImportRules, AutoKeepsThePlansValueForEveryKey) {
    const Plan base = unusual();
    const DeepSpeedImport all = imported(R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto", "loss_scale": 0, "hysteresis": 2},
        "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
        "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_min_lr": "auto",
            "warmup_max_lr": "auto", "warmup_num_steps": "auto"}},
        "zero_optimization": {"stage": "auto", "reduce_bucket_size": "auto",
            "offload_optimizer": {"device": "auto", "nvme_path": "auto"}}})");
    EXPECT_EQ(all.plan.layout, base.layout);
    EXPECT_EQ(all.plan.numerics, base.numerics);
    EXPECT_EQ(all.plan.optimizer, base.optimizer);
    EXPECT_EQ(all.plan.training.steps, base.training.steps);
    EXPECT_EQ(all.plan.lr.kind, LrKind::DeepSpeedWarmupDecay);
    EXPECT_EQ(all.plan.lr.warmup_steps, 77);
    EXPECT_EQ(all.plan.lr.warmup_start_ratio, base.lr.warmup_start_ratio);
    EXPECT_THAT(all.notes, Contains(AllOf(HasSubstr("\"auto\" is the training argument's"), HasSubstr("bf16.enabled"),
                                          HasSubstr("optimizer.params.betas"), HasSubstr("gradient_clipping"),
                                          HasSubstr("zero_optimization.stage"))));
    EXPECT_EQ(exported(all.plan).dump().find("auto"), std::string::npos);
}

TEST(DeepSpeedImportRules, AFileOfTheTrainersLeavesTheRestToItsArguments) {
    const Plan base = unusual();
    for (const char* text : {R"({"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}})",
                             R"({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": "auto"})"}) {
        const DeepSpeedImport file = imported(text);
        EXPECT_EQ(file.plan.numerics.dtype, Dtype::Bf16) << "mixed_precision is an argument";
        EXPECT_EQ(file.plan.optimizer.lr, base.optimizer.lr);
        EXPECT_EQ(file.plan.lr, base.lr) << "and so is the scheduler";
        EXPECT_EQ(file.plan.layout.recompute, Recompute::Full);
    }
    EXPECT_EQ(imported(R"({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": "auto"})").plan.optimizer.clip,
              0.5);
    // What the file turns off is off.
    const auto off = imported(R"({"train_micro_batch_size_per_gpu": "auto", "fp16": {"enabled": "auto"},
                                  "bf16": {"enabled": false}})");
    EXPECT_EQ(off.plan.numerics.dtype, Dtype::Fp32);
    EXPECT_THAT(off.notes, Contains(HasSubstr("turns the plan's bf16 off")));
}

TEST(DeepSpeedImportRules, AKeyThatIsLeftOutIsDeepSpeedsDefaultAndIsSaid) {
    const DeepSpeedImport file = imported(R"({"train_batch_size": 8,
        "optimizer": {"type": "Adam", "params": {}}, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2}})");
    const Optimizer& optimizer = file.plan.optimizer;
    EXPECT_EQ(optimizer.lr, 1e-3);
    EXPECT_EQ(optimizer.beta1, 0.9);
    EXPECT_EQ(optimizer.beta2, 0.999);
    EXPECT_EQ(optimizer.eps, 1e-8);
    EXPECT_EQ(optimizer.weight_decay, 0);
    EXPECT_EQ(optimizer.clip, 1) << "since 0.19.3";
    EXPECT_EQ(file.plan.lr.kind, LrKind::Constant);
    EXPECT_EQ(file.plan.lr.warmup_steps, 0);
    EXPECT_EQ(file.plan.layout.recompute, Recompute::Full) << "the file does not speak of it";
    EXPECT_THAT(file.notes, Contains(HasSubstr("no scheduler")));
    EXPECT_THAT(file.notes, Contains(HasSubstr("does not speak of recomputation")));
    EXPECT_THAT(file.notes,
                Contains(AllOf(HasSubstr("leaves out"), HasSubstr("optimizer.params.betas [0.9,0.999]"),
                               HasSubstr("optimizer.params.lr 0.001"),
                               HasSubstr("zero_optimization.overlap_comm false"), HasSubstr("gradient_clipping 1.0"))));
    const Json again = exported(file.plan);
    EXPECT_EQ(again.at("zero_optimization").at("overlap_comm"), false);
    EXPECT_FALSE(again.contains("scheduler"));

    Plan older = unusual();
    older.exports.deepspeed_release = "0.18.9";
    EXPECT_EQ(imported(R"({"train_batch_size": 8})", older).plan.optimizer.clip, 0) << "before 0.19.3";
}

TEST(DeepSpeedImportRules, Stage3sDefaultsAreDeepSpeedsToo) {
    const Json zero = exported(imported(R"({"train_batch_size": 8, "bf16": {"enabled": true},
        "zero_optimization": {"stage": 3, "stage3_max_reuse_distance": 7}})")
                                   .plan)
                          .at("zero_optimization");
    EXPECT_EQ(zero.at("stage3_prefetch_bucket_size"), 50'000'000);
    EXPECT_EQ(zero.at("stage3_param_persistence_threshold"), 100'000);
    EXPECT_EQ(zero.at("stage3_gather_16bit_weights_on_model_save"), false);
    EXPECT_EQ(zero.at("stage3_max_reuse_distance"), 7);
    EXPECT_EQ(zero.at("overlap_comm"), true);
}

TEST(DeepSpeedImportRules, WithoutAnOptimizerThePlansIsKeptAndSaid) {
    const Plan base = unusual();
    const DeepSpeedImport file = imported(R"({"train_batch_size": 8, "gradient_clipping": 0.5})");
    EXPECT_EQ(file.plan.optimizer, base.optimizer);
    EXPECT_THAT(file.notes, Contains(AllOf(HasSubstr("no optimizer"), HasSubstr("script's own"), HasSubstr("0.0003"))));
}

TEST(DeepSpeedImportRules, OtherDefaults) {
    const auto torch =
        imported(R"({"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"torch_adam": true}}})");
    EXPECT_EQ(torch.plan.optimizer.weight_decay, 0.01);
    const auto sgd = imported(R"({"train_batch_size": 8, "optimizer": {"type": "SGD", "params": {"lr": 0.1}}})");
    EXPECT_EQ(sgd.plan.optimizer.momentum, 0);
    // fp32 sums travel as the model's dtype where nothing is said.
    const auto sums = imported(R"({"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1},
        "data_types": {"grad_accum_dtype": "torch.float32"}})");
    EXPECT_TRUE(sums.plan.numerics.fp32_gradients);
    EXPECT_EQ(sums.plan.numerics.reduce_dtype, ReduceDtype::Bf16);
    EXPECT_EQ(exported(sums.plan).at("communication_data_type"), "bf16");
    const auto text =
        imported(R"({"train_batch_size": 8, "zero_optimization": {"stage": "3", "sub_group_size": "9"}})");
    EXPECT_EQ(text.plan.layout.zero_stage, 3) << "a strict block reads the number of a text";
    EXPECT_THAT(refusal(R"({"train_batch_size": "8"})"), HasSubstr("a whole number belongs there"));
    Plan base = unusual();
    base.numerics.hysteresis = 9;
    const auto fp16 = imported(R"({"train_batch_size": 8, "fp16": {"enabled": "true"}})", base);
    EXPECT_EQ(fp16.plan.numerics.dtype, Dtype::Fp16);
    EXPECT_EQ(fp16.plan.numerics.hysteresis, 2);
}

TEST(DeepSpeedImportRules, WarmupsWithWastedUpdatesAreTold) {
    const auto with = [](const char* steps) {
        return imported(
            fmt::format(R"({{"train_batch_size": 8, "optimizer": {{"type": "AdamW", "params": {{"lr": 1e-4}}}},
            "scheduler": {{"type": "WarmupLR", "params": {{"warmup_num_steps": {}}}}}}})",
                        steps));
    };
    for (const char* few : {"0", "1"}) {
        const auto file = with(few);
        EXPECT_THAT(file.notes, Contains(AllOf(HasSubstr("counts as 2"), HasSubstr("first two updates"))));
        const auto made = export_deepspeed(file.plan);
        ASSERT_TRUE(made);
        EXPECT_THAT(made->notes, Contains(HasSubstr("first two updates"))) << "the export says it too";
    }
    EXPECT_THAT(with("2").notes, Each(Not(HasSubstr("counts as 2"))));
    EXPECT_EQ(with("5").plan.optimizer.lr, 1e-4) << "the peak is the optimizer's rate since 0.17.2";
    Plan older = unusual();
    older.exports.deepspeed_release = "0.17.1";
    EXPECT_EQ(imported(R"({"train_batch_size": 8, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}},
        "scheduler": {"type": "WarmupLR", "params": {}}})",
                       older)
                  .plan.optimizer.lr,
              0.001);
}

TEST(DeepSpeedImportRules, OldNamesBecomeTodays) {
    const DeepSpeedImport file =
        imported(R"({"train_batch_size": 8, "bfloat16": {"enabled": true}, "zero_optimization": {"stage": 3,
        "cpu_offload": true, "cpu_offload_param": true, "max_live_parameters": 0, "prefetch_bucket_size": 1000,
        "gather_16bit_weights_on_model_save": true}})");
    EXPECT_EQ(file.plan.numerics.dtype, Dtype::Bf16);
    EXPECT_EQ(file.plan.layout.offload_optimizer, Offload::Cpu);
    EXPECT_EQ(file.plan.layout.offload_parameters, Offload::Cpu);
    EXPECT_THAT(file.notes, Contains(AllOf(HasSubstr("cpu_offload as"), HasSubstr("max_live_parameters as"))));
    const Json zero = exported(file.plan).at("zero_optimization");
    EXPECT_EQ(zero.at("stage3_max_live_parameters"), 0);
    EXPECT_EQ(zero.at("stage3_prefetch_bucket_size"), 1000);
    for (const char* old : {"max_live_parameters", "prefetch_bucket_size", "cpu_offload", "cpu_offload_param",
                            "gather_16bit_weights_on_model_save"})
        EXPECT_FALSE(zero.contains(old)) << old;
    const auto lint = lint_deepspeed(exported(file.plan).dump(), "ds.json", deepspeed_launch(file.plan));
    ASSERT_TRUE(lint);
    EXPECT_TRUE(lint->accepted());
    EXPECT_EQ(imported(R"({"train_batch_size": 8, "zero_optimization": true})").plan.layout.zero_stage, 1);

    for (const char* twice : {R"("max_live_parameters": 0, "stage3_max_live_parameters": 1)",
                              R"("stage3_max_live_parameters": 1, "max_live_parameters": 0)",
                              R"("cpu_offload": true, "offload_optimizer": {"device": "cpu"})"}) {
        EXPECT_THAT(
            refusal(fmt::format(R"({{"train_batch_size": 8, "zero_optimization": {{"stage": 3, {}}}}})", twice)),
            HasSubstr("side by side"));
    }
}

TEST(DeepSpeedImportRules, TensorAndSequenceParallelRanksDivideThePlans) {
    const auto tensor =
        imported(R"({"train_batch_size": 8, "bf16": {"enabled": true}, "zero_optimization": {"stage": 1},
                                     "tensor_parallel": {"autotp_size": 2}})");
    EXPECT_EQ(tensor.plan.layout.tp, 2);
    EXPECT_EQ(tensor.plan.layout.dp, 2);
    EXPECT_EQ(tensor.plan.layout.micro_batch, 2) << "DeepSpeed's check counts all four ranks";
    EXPECT_THAT(tensor.notes, Contains(HasSubstr("counts the 2 tensor-parallel ranks")));
    const auto all = imported(R"({"train_batch_size": 16, "train_micro_batch_size_per_gpu": 2,
        "gradient_accumulation_steps": 1, "tensor_parallel": {"autotp_size": 2}})");
    EXPECT_EQ(all.plan.layout.dp, 4);
    EXPECT_EQ(all.plan.cluster.world_size(), 8);
    const auto sequence = imported(R"({"train_batch_size": 2, "sequence_parallel_size": 2})");
    EXPECT_EQ(sequence.plan.layout.cp, 2);
    EXPECT_EQ(sequence.plan.layout.dp, 2);
    EXPECT_EQ(sequence.plan.layout.global_batch(), 2);
    EXPECT_THAT(refusal(R"({"train_batch_size": 9, "tensor_parallel": {"autotp_size": 3}})"),
                HasSubstr("not a multiple of tp 3"));
}

TEST(DeepSpeedImportRules, WhatTheReleaseRefusesIsToldByName) {
    const auto file = imported(R"({"train_batch_size": 8, "amp": {"enabled": false},
        "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}})");
    const auto named = Contains(AllOf(HasSubstr("DeepSpeed 0.19.8 refuses"), HasSubstr("amp")));
    EXPECT_THAT(file.notes, named);
    EXPECT_THAT(file.notes, Contains(AllOf(HasSubstr("refuses"), HasSubstr("optimizer.type"))));
    const auto made = export_deepspeed(file.plan);
    ASSERT_TRUE(made);
    EXPECT_THAT(made->notes, named);
    Plan older = unusual();
    older.exports.deepspeed_release = "0.18.9";
    EXPECT_THAT(imported(R"({"train_batch_size": 8, "amp": {"enabled": false}})", older).notes,
                Each(Not(HasSubstr("refuses"))));
}

TEST(DeepSpeedImportRules, KeptKeysAreSortedByWhatTheyDo) {
    const auto notes = imported(R"({"train_batch_size": 8, "steps_per_print": 5, "prescale_gradients": true,
        "gradient_acumulation_steps": 2, "data_parallel": 3, "fp16": {"enabled": false, "auto_cast": true},
        "zero_optimization": {"stage": 3, "zero_quantized_weights": true, "sub_group_size": 9}})")
                           .notes;
    EXPECT_THAT(notes, Contains(AllOf(HasSubstr("No field of the plan says it"), HasSubstr("prescale_gradients true"),
                                      HasSubstr("zero_quantized_weights true (gathers weights in 8 bits"),
                                      Not(HasSubstr("steps_per_print")), Not(HasSubstr("auto_cast")))));
    EXPECT_THAT(notes, Contains(AllOf(HasSubstr("without effect on the result"), HasSubstr("steps_per_print"),
                                      HasSubstr("zero_optimization.sub_group_size"))));
    EXPECT_THAT(notes, Contains(AllOf(HasSubstr("no such key"), HasSubstr("data_parallel"))));
}

TEST(DeepSpeedImportRules, EveryKeyOfDeepSpeedsHasAnEffect) {
    const auto& schema = deepspeed_schema();
    ASSERT_TRUE(schema);
    for (const DeepSpeedKey& key : schema->keys()) EXPECT_TRUE(deepspeed::kept_effect(key.key)) << key.key;
    EXPECT_FALSE(deepspeed::kept_effect("nonsense"));
    EXPECT_FALSE(deepspeed::kept_effect("steps_per_print_more"));
}

TEST(DeepSpeedImportRules, AKeptOptimizerHasNoAuto) {
    const auto file = imported(R"({"train_batch_size": 8, "optimizer": {"type": "Lion",
        "params": {"lr": "auto", "betas": [0.9, 0.99], "foo": "auto"}}})");
    EXPECT_EQ(exported(file.plan).at("optimizer"),
              Json::parse(R"({"type": "Lion", "params": {"lr": 3e-4, "betas": [0.9, 0.99]}})"));
}

}  // namespace
}  // namespace plimsoll
