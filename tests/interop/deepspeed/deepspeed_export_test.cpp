// SPDX-License-Identifier: Apache-2.0
// What each part of a plan becomes. That DeepSpeed itself accepts and reads it so is tested by
// interop_deepspeed_accepts.
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/base/json.h"
#include "core/frameworks/estimate_under.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/estimate/estimate.h"
#include "core/plan/parameters.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// llama-7b on eight H100
Plan base() {
    Plan plan;
    plan.model = *model_preset("llama-7b");
    plan.cluster.gpu = "H100 SXM";
    plan.cluster.gpus_per_node = 8;
    plan.layout.dp = 8;
    plan.layout.micro_batch = 2;
    plan.layout.accumulation = 4;
    plan.layout.zero_stage = 2;
    plan.numerics.dtype = Dtype::Bf16;
    plan.data.sequence_length = 1024;
    return plan;
}

DeepSpeedExport exported(const Plan& plan) {
    auto result = export_deepspeed(plan);
    EXPECT_TRUE(result) << result.error().message;
    return result.value_or(DeepSpeedExport{});
}

TEST(DeepSpeedExport, BatchNumbersAndOptimizerAreThoseOfThePlan) {
    Plan plan = base();
    plan.optimizer.lr = 3e-4;
    plan.optimizer.clip = 0.5;
    const Json json = exported(plan).json;
    EXPECT_EQ(json.at("train_batch_size"), 64);
    EXPECT_EQ(json.at("train_micro_batch_size_per_gpu"), 2);
    EXPECT_EQ(json.at("gradient_accumulation_steps"), 4);
    EXPECT_EQ(json.at("optimizer"), Json::parse(R"({"type": "AdamW", "params": {"lr": 3e-4, "betas": [0.9, 0.95],
        "eps": 1e-8, "weight_decay": 0.1}})"));
    EXPECT_EQ(json.at("gradient_clipping"), 0.5);
}

TEST(DeepSpeedExport, LambIsDeepSpeedsOwnInFp16) {
    Plan plan = base();
    plan.optimizer.kind = OptimizerKind::Lamb;
    plan.optimizer.lr = 2e-3;
    plan.numerics.dtype = Dtype::Fp16;
    const DeepSpeedExport fp16 = exported(plan);
    EXPECT_EQ(fp16.json.at("optimizer"), Json::parse(R"({"type": "Lamb", "params": {"lr": 2e-3, "betas": [0.9, 0.95],
        "eps": 1e-8, "weight_decay": 0.1}})"));
    EXPECT_EQ(fp16.json.at("zero_allow_untested_optimizer"), true);
    EXPECT_THAT(fp16.notes, AllOf(Contains(HasSubstr("max_coeff 10")), Contains(HasSubstr("flat shard"))));

    plan.numerics.dtype = Dtype::Bf16;
    const DeepSpeedExport bf16 = exported(plan);
    EXPECT_FALSE(bf16.json.contains("optimizer"));
    EXPECT_THAT(bf16.notes, Contains(HasSubstr("LAMB runs in fp16 with a dynamic loss scale only")));
}

TEST(DeepSpeedExport, SgdIsThatOfTorch) {
    Plan plan = base();
    plan.optimizer.kind = OptimizerKind::Sgd;
    plan.optimizer.lr = 0.5;
    const DeepSpeedExport result = exported(plan);
    EXPECT_EQ(result.json.at("optimizer"),
              Json::parse(R"({"type": "SGD", "params": {"lr": 0.5, "momentum": 0.9, "weight_decay": 0.1}})"));
    EXPECT_EQ(result.json.at("zero_allow_untested_optimizer"), true);
    plan.numerics.dtype = Dtype::Fp32;
    plan.layout.zero_stage = 0;
    EXPECT_FALSE(exported(plan).json.contains("zero_allow_untested_optimizer"));
}

TEST(DeepSpeedExport, OptimizersThatItLacksAreTheScripts) {
    for (const auto& [kind, name] : {std::pair{OptimizerKind::AdamW8bit, "bitsandbytes.optim.AdamW8bit"},
                                     {OptimizerKind::Adafactor, "torch.optim.Adafactor"}}) {
        Plan plan = base();
        plan.optimizer.kind = kind;
        const DeepSpeedExport result = exported(plan);
        EXPECT_FALSE(result.json.contains("optimizer"));
        EXPECT_EQ(result.json.at("zero_allow_untested_optimizer"), true);
        EXPECT_FALSE(result.json.contains("zero_force_ds_cpu_optimizer"));
        EXPECT_THAT(result.notes, Contains(AllOf(HasSubstr(name), HasSubstr("deepspeed.initialize as optimizer"))));
        plan.layout.offload_optimizer = Offload::Cpu;
        EXPECT_EQ(exported(plan).json.at("zero_force_ds_cpu_optimizer"), false);
    }
    EXPECT_FALSE(exported(base()).json.contains("zero_allow_untested_optimizer"));
}

TEST(DeepSpeedExport, GradientsTravelAsThePlanSays) {
    Plan plan = base();
    EXPECT_EQ(exported(plan).json.at("communication_data_type"), "bf16");
    plan.numerics.reduce_dtype = ReduceDtype::Fp32;
    const Json json = exported(plan).json;
    EXPECT_EQ(json.at("communication_data_type"), "fp32");
    EXPECT_EQ(json.at("data_types").at("grad_accum_dtype"), "bf16");
}

TEST(DeepSpeedExport, WhatTheFileCannotSayIsNoted) {
    Plan plan = base();
    plan.layout.recompute = Recompute::Full;
    plan.layout.recompute_every = 2;
    plan.layout.compress_activations = plan.layout.offload_activations = true;
    plan.layout.loss_chunks = 8;
    plan.training.all_reduce_group = 4;
    plan.model.weights = "/models/llama";
    const auto notes = exported(plan).notes;
    for (const char* word : {"one layer in 2", "compress_activations", "save_on_cpu", "in 8 pieces", "all_reduce_group",
                             "load /models/llama"}) {
        EXPECT_THAT(notes, Contains(HasSubstr(word)));
        EXPECT_THAT(exported(base()).notes, Not(Contains(HasSubstr(word))));
    }
}

TEST(DeepSpeedExport, ClippingThatIsOffIsWrittenToo) {
    Plan plan = base();
    plan.optimizer.clip = 0;
    EXPECT_EQ(exported(plan).json.at("gradient_clipping"), 0.0) << "left out, it is 1 since 0.19.3";
}

TEST(DeepSpeedExport, WeightDecayOnNormsIsANoteOnlyWhereThereIsDecay) {
    Plan plan = base();
    EXPECT_THAT(exported(plan).notes, Contains(HasSubstr("parameter groups")));
    plan.optimizer.weight_decay = 0;
    EXPECT_THAT(exported(plan).notes, Not(Contains(HasSubstr("parameter groups"))));
}

TEST(DeepSpeedExport, Fp32NeedsNoPrecisionBlock) {
    Plan plan = base();
    plan.numerics.dtype = Dtype::Fp32;
    plan.layout.zero_stage = 0;
    const Json json = exported(plan).json;
    EXPECT_EQ(json.at("fp16"), Json::parse(R"({"enabled": false})"));
    EXPECT_EQ(json.at("bf16"), Json::parse(R"({"enabled": false})"));
    EXPECT_EQ(json.at("communication_data_type"), "fp32");
    EXPECT_EQ(json.at("zero_optimization"), Json::parse(R"({"stage": 0})"));
}

TEST(DeepSpeedExport, Fp16WritesItsWholeScaler) {
    Plan plan = base();
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.initial_scale_power = 12;
    plan.numerics.loss_scale_window = 500;
    plan.numerics.hysteresis = 4;
    plan.numerics.min_loss_scale = 2;
    const DeepSpeedExport result = exported(plan);
    EXPECT_EQ(result.json.at("fp16"), Json::parse(R"({"enabled": true, "loss_scale": 0.0, "initial_scale_power": 12,
        "loss_scale_window": 500, "hysteresis": 4, "consecutive_hysteresis": false, "min_loss_scale": 2})"));
    EXPECT_EQ(result.json.at("bf16").at("enabled"), false);
    EXPECT_THAT(result.notes, Not(Contains(HasSubstr("min_loss_scale"))));
}

TEST(DeepSpeedExport, MinimumLossScaleBecomesAWholeNumber) {
    Plan plan = base();
    plan.numerics.dtype = Dtype::Fp16;
    for (const auto& [planned, written] : {std::pair{0.5, 1}, {1.5, 2}, {16.0, 16}}) {
        plan.numerics.min_loss_scale = planned;
        const DeepSpeedExport result = exported(plan);
        EXPECT_TRUE(result.json.at("fp16").at("min_loss_scale").is_number_integer());
        EXPECT_EQ(result.json.at("fp16").at("min_loss_scale"), written);
        const auto note = Contains(HasSubstr("whole numbers"));
        if (planned == written) {
            EXPECT_THAT(result.notes, Not(note));
        } else {
            EXPECT_THAT(result.notes, note);
        }
    }
}

TEST(DeepSpeedExport, StaticLossScaleIsWritten) {
    Plan plan = base();
    plan.numerics.dtype = Dtype::Fp16;
    plan.numerics.loss_scale = 128;
    EXPECT_EQ(exported(plan).json.at("fp16").at("loss_scale"), 128);
}

TEST(DeepSpeedExport, Bf16SkipsStepsWithBadGradients) {
    EXPECT_EQ(exported(base()).json.at("bf16"),
              Json::parse(R"({"enabled": true, "check_grad_overflow": true, "immediate_grad_update": false})"));
}

// DeepSpeed 0.18.9 and 0.19.8 do not scale the loss at stage 0 but unscale the gradients.
TEST(DeepSpeedExport, HalfPrecisionAtStage0BecomesStage1WithANote) {
    for (const Dtype dtype : {Dtype::Bf16, Dtype::Fp16}) {
        Plan plan = base();
        plan.numerics.dtype = dtype;
        plan.layout.zero_stage = 0;
        const DeepSpeedExport result = exported(plan);
        EXPECT_EQ(result.json.at("zero_optimization").at("stage"), 1);
        EXPECT_THAT(result.notes, Contains(HasSubstr("stage 1 is exported in place of stage 0")));
        plan.layout.zero_stage = 1;
        EXPECT_THAT(exported(plan).notes, Not(Contains(HasSubstr("in place of stage 0"))));
    }
}

TEST(DeepSpeedExport, Fp32GradientsAreAccumulatedAndReducedInFp32) {
    Plan plan = base();
    EXPECT_EQ(exported(plan).json.at("data_types").at("grad_accum_dtype"), "bf16");
    EXPECT_EQ(exported(plan).json.at("communication_data_type"), "bf16");
    plan.numerics.fp32_gradients = true;
    EXPECT_EQ(exported(plan).json.at("data_types").at("grad_accum_dtype"), "fp32");
    EXPECT_EQ(exported(plan).json.at("communication_data_type"), "fp32");
}

TEST(DeepSpeedExport, BucketIsTheOneThatTheEstimateCounts) {
    for (const char* preset : {"llama-7b", "gpt2"}) {
        for (const bool fp32_gradients : {false, true}) {
            Plan plan = base();
            plan.model = *model_preset(preset);
            plan.numerics.fp32_gradients = fp32_gradients;
            plan.training.bucket_mib = 50;  // of Plimsoll's own engine
            const Json zero = exported(plan).json.at("zero_optimization");
            // DeepSpeed's default is 5e8; GPT-2 has fewer parameters.
            const std::int64_t elements = preset == std::string("gpt2") ? 124'439'808 : 500'000'000;
            EXPECT_EQ(zero.at("reduce_bucket_size"), elements);
            EXPECT_EQ(zero.at("allgather_bucket_size"), elements);
            EXPECT_EQ(zero.at("overlap_comm"), true);
            const auto estimate = estimate_under(Framework::DeepSpeed, plan);
            ASSERT_TRUE(estimate) << estimate.error().message;
            // overlap_comm: a second bucket is filled while the first one travels. Stage 2 fills them in 16 bits and
            // adds up in fp32 where it keeps the shard (zero/stage_1_and_2.py:1253).
            EXPECT_EQ(estimate->fullest().find("reduce_bucket")->bytes, 2 * 2 * elements);
        }
    }
}

TEST(DeepSpeedExport, OfAPipelineTheLargestStageGivesTheBucket) {
    Plan plan = base();
    plan.model = *model_preset("gpt2-xl");
    plan.layout.dp = 2;
    plan.layout.pp = 4;
    plan.layout.zero_stage = 1;
    const Json zero = exported(plan).json.at("zero_optimization");
    const auto estimate = estimate_under(Framework::DeepSpeed, plan);
    ASSERT_TRUE(estimate) << estimate.error().message;
    // 12 of 48 layers of 30,740,800, token and position embeddings of (50,257 + 1,024) x 1,600
    EXPECT_EQ(zero.at("reduce_bucket_size"), 12 * 30'740'800 + (50'257 + 1'024) * 1'600);
    EXPECT_EQ(zero.at("overlap_comm"), false);
    EXPECT_EQ(estimate->stages.at(0).find("reduce_bucket")->bytes,
              2 * zero.at("reduce_bucket_size").get<std::int64_t>());
}

TEST(DeepSpeedExport, BucketIsNotLargerThanTheModelAndEven) {
    Plan plan = base();
    plan.model = *model_preset("gpt2");
    plan.model.hidden_size = 3;
    plan.model.num_heads = plan.model.num_kv_heads = 1;
    std::set<std::int64_t> remainders;
    for (const std::int64_t vocabulary : {3, 4}) {
        plan.model.vocab_size = vocabulary;
        const std::int64_t parameters = count_parameters(plan.model).total;
        remainders.insert(parameters % 2);
        const Json zero = exported(plan).json.at("zero_optimization");
        for (const char* key : {"reduce_bucket_size", "allgather_bucket_size"}) {
            EXPECT_TRUE(zero.at(key).is_number_integer());
            EXPECT_EQ(zero.at(key), parameters - parameters % 2);
        }
    }
    EXPECT_EQ(remainders.size(), 2U) << "one model has an odd number of parameters";
}

TEST(DeepSpeedExport, Stage3SizesFollowTheHiddenSize) {
    Plan plan = base();
    plan.layout.zero_stage = 3;
    const DeepSpeedExport result = exported(plan);
    const Json& zero = result.json.at("zero_optimization");
    EXPECT_EQ(zero.at("stage3_prefetch_bucket_size"), 15'099'494);  // floor(0.9 x 4096^2); 15099494.4 is refused
    EXPECT_TRUE(zero.at("stage3_prefetch_bucket_size").is_number_integer());
    EXPECT_EQ(zero.at("stage3_param_persistence_threshold"), 40'960);
    EXPECT_EQ(zero.at("stage3_gather_16bit_weights_on_model_save"), true);
    EXPECT_FALSE(zero.contains("allgather_bucket_size"));
    EXPECT_THAT(result.notes, Contains(HasSubstr("take train_batch_size out")));
}

TEST(DeepSpeedExport, OffloadToTheHostIsPinned) {
    Plan plan = base();
    plan.layout.zero_stage = 3;
    plan.layout.offload_optimizer = Offload::Cpu;
    plan.layout.offload_parameters = Offload::Cpu;
    const Json zero = exported(plan).json.at("zero_optimization");
    EXPECT_EQ(zero.at("offload_optimizer"), Json::parse(R"({"device": "cpu", "pin_memory": true})"));
    EXPECT_EQ(zero.at("offload_param"), Json::parse(R"({"device": "cpu", "pin_memory": true})"));
}

TEST(DeepSpeedExport, OffloadToNvmeHasAPathAndBuffersThatHoldTheLargestParameter) {
    Plan plan = base();
    plan.layout.zero_stage = 3;
    plan.layout.offload_optimizer = Offload::Nvme;
    plan.layout.offload_parameters = Offload::Nvme;
    plan.layout.nvme_path = "/mnt/nvme";
    Json zero = exported(plan).json.at("zero_optimization");
    EXPECT_EQ(zero.at("offload_optimizer"),
              Json::parse(R"({"device": "nvme", "nvme_path": "/mnt/nvme", "pin_memory": true})"));
    EXPECT_EQ(zero.at("offload_param").at("nvme_path"), "/mnt/nvme");
    EXPECT_EQ(zero.at("offload_param").at("buffer_size"), 100'000'000);
    plan.model = *model_preset("llama-3-405b");
    zero = exported(plan).json.at("zero_optimization");
    EXPECT_EQ(zero.at("offload_param").at("buffer_size"), 128'256LL * 16'384 / 8);  // an eighth of the embedding
}

TEST(DeepSpeedExport, ImpossiblePlansAreErrors) {
    Plan plan = base();
    plan.layout.offload_optimizer = Offload::Nvme;
    plan.layout.zero_stage = 3;
    EXPECT_THAT(export_deepspeed(plan).error().message, HasSubstr("layout.nvme_path"));
    plan = base();
    plan.layout.pp = 2;
    plan.cluster.nodes = 2;
    EXPECT_THAT(export_deepspeed(plan).error().message, HasSubstr("stage 2"));
    plan = base();
    plan.layout.dp = 7;
    EXPECT_THAT(export_deepspeed(plan).error().message, HasSubstr("layout.dp"));
}

TEST(DeepSpeedExport, RecomputationIsHonestAboutWhereItActs) {
    Plan plan = base();
    EXPECT_FALSE(exported(plan).json.contains("activation_checkpointing"));
    plan.layout.recompute = Recompute::Full;
    const DeepSpeedExport full = exported(plan);
    EXPECT_EQ(full.json.at("activation_checkpointing").at("number_checkpoints"), 32);
    EXPECT_THAT(full.notes,
                AllOf(Contains(HasSubstr("gradient_checkpointing")), Not(Contains(HasSubstr("Selective")))));
    plan.layout.recompute = Recompute::Selective;
    EXPECT_THAT(exported(plan).notes, Contains(HasSubstr("Selective recomputation")));
}

TEST(DeepSpeedExport, TensorParallelIsSaidInTheFileWithoutTheBatchThatDeepSpeedMiscounts) {
    Plan plan = base();
    plan.layout.dp = 4;
    plan.layout.tp = 2;
    const DeepSpeedExport result = exported(plan);
    EXPECT_EQ(result.json.at("tensor_parallel"), Json::parse(R"({"autotp_size": 2})"));
    EXPECT_FALSE(result.json.contains("train_batch_size"));
    EXPECT_THAT(result.notes, Contains(HasSubstr("train_batch_size is left out (it is 32)")));
}

TEST(DeepSpeedExport, PipelineIsANoteAndTakesTensorParallelOutOfTheFile) {
    Plan plan = base();
    plan.layout.dp = 2;
    plan.layout.tp = 2;
    plan.layout.pp = 2;
    plan.layout.zero_stage = 1;
    plan.layout.schedule = Schedule::GPipe;
    const DeepSpeedExport result = exported(plan);
    EXPECT_FALSE(result.json.contains("tensor_parallel"));
    EXPECT_EQ(result.json.at("train_batch_size"), 16);
    EXPECT_EQ(result.json.at("zero_optimization").at("overlap_comm"), false);
    EXPECT_THAT(result.notes, AllOf(Contains(HasSubstr("PipelineModule(num_stages=2)")),
                                    Contains(HasSubstr("no GPipe")), Contains(HasSubstr("Tensor parallelism of 2"))));
    plan.layout.schedule = Schedule::ZbH1;
    EXPECT_THAT(exported(plan).notes, Contains(HasSubstr("it has no ZB-H1")));
    plan.layout.schedule = Schedule::OneFOneB;
    EXPECT_THAT(exported(plan).notes, Not(Contains(HasSubstr("it has no"))));
}

TEST(DeepSpeedExport, ContextAndSequenceParallelAreNotes) {
    Plan plan = base();
    plan.layout.dp = 2;
    plan.layout.tp = 2;
    plan.layout.cp = 2;
    plan.layout.sequence_parallel = true;
    EXPECT_THAT(exported(plan).notes, AllOf(Contains(HasSubstr("Context parallelism of 2")),
                                            Contains(HasSubstr("layout.sequence_parallel"))));
}

TEST(DeepSpeedExport, ExpertsOfMixtralAreSpreadByTheFile) {
    Plan plan = base();
    plan.model = *model_preset("mixtral-8x7b");
    plan.layout.ep = 4;
    EXPECT_EQ(exported(plan).json.at("expert_parallel"),
              Json::parse(R"({"enabled": true, "autoep_size": 4, "preset_model": "mixtral"})"));
    plan.layout.dp = 4;
    plan.layout.tp = 2;
    const DeepSpeedExport other = exported(plan);
    EXPECT_FALSE(other.json.contains("expert_parallel"));
    EXPECT_THAT(other.notes, Contains(HasSubstr("ep_size=4")));
}

TEST(DeepSpeedExport, OldReleasesGrowTheLossScaleEarlierAndTheNoteSaysSo) {
    Plan plan = base();
    plan.numerics.dtype = Dtype::Fp16;
    plan.exports.deepspeed_release = "0.16.9";
    EXPECT_THAT(exported(plan).notes, Contains(HasSubstr("after 1000 in place of 1001")));
    plan.exports.deepspeed_release = "0.17.1";
    EXPECT_THAT(exported(plan).notes, Not(Contains(HasSubstr("in place of 1001"))));
}

TEST(DeepSpeedExport, EveryNoteIsASentence) {
    Plan plan = base();
    plan.layout.recompute = Recompute::Selective;
    plan.layout.zero_stage = 3;
    const std::vector<std::string> notes = exported(plan).notes;
    ASSERT_THAT(notes, Not(IsEmpty()));
    for (const std::string& note : notes) EXPECT_THAT(note, ::testing::EndsWith(".")) << note;
}

}  // namespace
}  // namespace plimsoll
