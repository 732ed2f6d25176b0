// SPDX-License-Identifier: Apache-2.0
// Each trouble that DeepSpeed's users met has its finding, with the key, the cause and the cure.
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/file.h"

namespace plimsoll {
namespace {

using Level = DeepSpeedFinding::Level;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

DeepSpeedLaunch launch_of(std::int64_t world) {
    DeepSpeedLaunch launch;
    launch.world = world;
    return launch;
}

DeepSpeedLint linted(const std::string& text, const DeepSpeedLaunch& launch = launch_of(8)) {
    const auto lint = lint_deepspeed(text, "ds.json", launch);
    EXPECT_TRUE(lint) << lint.error().message;
    return lint.value_or(DeepSpeedLint{});
}

/// The file with a micro-batch, the moved default and AdamW written out, and `more` after them.
std::string file(const std::string& more) {
    return R"({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0,
               "optimizer": {"type": "AdamW", "params": {"lr": 0.0001}})" +
           std::string(more.empty() ? "" : ", ") + more + "}";
}

/// "level key: sentence" of the findings of one rule.
std::string found(const DeepSpeedLint& lint, const std::string& rule) {
    std::string text;
    for (const DeepSpeedFinding& each : lint.findings) {
        if (each.rule == rule) text += fmt::format("{} {}: {}\n", level_name(each.level), each.key, each.sentence);
    }
    return text;
}

std::string troubles(const DeepSpeedLint& lint) {
    std::string text;
    for (const DeepSpeedFinding& each : lint.findings) {
        if (each.level != Level::Note) text += fmt::format("{} {}: {}\n", each.rule, each.key, each.sentence);
    }
    return text;
}

TEST(DeepSpeedLint, AFileWithoutTroubleIsClean) {
    const DeepSpeedLint lint = linted(file(""));
    EXPECT_TRUE(lint.clean()) << troubles(lint);
    ASSERT_TRUE(lint.batch);
    EXPECT_EQ(lint.batch->train, 8);
}

TEST(DeepSpeedLint, Row1MisspeltKeysHaveTheNearestName) {
    EXPECT_THAT(found(linted(file(R"("gradient_acumulation_steps": 4)")), "unknown-key"),
                AllOf(HasSubstr("ignored gradient_acumulation_steps"), HasSubstr("gradient_accumulation_steps\"?")));
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stge": 2})")), "unknown-key"),
                AllOf(HasSubstr("refused zero_optimization.stge"), HasSubstr("did you mean \"stage\"?")));
    EXPECT_THAT(found(linted(file(R"("qqqqqqqqqqqqqqqqqqqq": 4)")), "unknown-key"), HasSubstr("take it out"));
}

TEST(DeepSpeedLint, Row2TheProductNamesTheRanksThatItCounts) {
    DeepSpeedLaunch launch = launch_of(16);
    launch.tp = 2;
    const std::string text =
        R"({"train_batch_size": 32, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 4})";
    EXPECT_THAT(found(linted(text, launch), "batch-product"),
                AllOf(HasSubstr("refused train_batch_size: 32 is not 2 x 4 x 8"),
                      HasSubstr("8 data-parallel ranks (16 ranks / tp 2 / pp 1 / sp 1)"), HasSubstr("write 64")));
    EXPECT_THAT(found(linted(R"({"train_batch_size": 10})"), "batch-product"), HasSubstr("such as 8"));
    launch = launch_of(0);
    EXPECT_THAT(found(linted(text, launch), "batch-product"), HasSubstr("note train_batch_size: this batch means 4"));
    EXPECT_THAT(
        found(linted(R"({"train_batch_size": 33, "train_micro_batch_size_per_gpu": 2})", launch), "batch-product"),
        HasSubstr("refused train_batch_size: 33 is not a multiple of 2 x 1 = 2"));
}

TEST(DeepSpeedLint, Row3ZeRO3UnderHuggingFaceLeavesTheBatchOut) {
    DeepSpeedLaunch launch = launch_of(8);
    const std::string text = R"({"train_batch_size": 8, "zero_optimization": {"stage": 3}})";
    EXPECT_EQ(found(linted(text, launch), "hf-zero3-batch"), "");
    launch.hugging_face = true;
    EXPECT_THAT(found(linted(text, launch), "hf-zero3-batch"), HasSubstr("leave train_batch_size out"));
    EXPECT_EQ(
        found(linted(R"({"train_batch_size": "auto", "zero_optimization": {"stage": 3}})", launch), "hf-zero3-batch"),
        "");
}

TEST(DeepSpeedLint, Row4AutoIsForHuggingFaceOnly) {
    const std::string text = R"({"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto",
        "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"},
        "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}})";
    DeepSpeedLaunch launch = launch_of(8);
    EXPECT_THAT(found(linted(text, launch), "auto"),
                AllOf(HasSubstr("refused train_micro_batch_size_per_gpu"), HasSubstr("danger gradient_clipping"),
                      HasSubstr("takes its default, 500000000"), HasSubstr("danger optimizer.params.lr")));
    launch.hugging_face = true;
    EXPECT_EQ(found(linted(text, launch), "auto"), "");
    EXPECT_EQ(found(linted(file(R"("pipeline": {"stages": "auto"})")), "auto"), "");
}

TEST(DeepSpeedLint, Rows5And8NumbersWithAFraction) {
    EXPECT_THAT(
        found(linted(file(R"("zero_optimization": {"stage": 3, "stage3_prefetch_bucket_size": 15099494.4})")),
              "fractional"),
        AllOf(HasSubstr("refused zero_optimization.stage3_prefetch_bucket_size"), HasSubstr("write 15099494\n")));
    EXPECT_EQ(found(linted(file(R"("zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8})")), "fractional"), "");
    EXPECT_THAT(found(linted(file(R"("fp16": {"enabled": true, "min_loss_scale": 0.5})")), "fractional"),
                HasSubstr("refused fp16.min_loss_scale"));
}

TEST(DeepSpeedLint, Row6NumbersAsStrings) {
    EXPECT_THAT(found(linted(R"({"train_micro_batch_size_per_gpu": "8"})"), "number-as-string"),
                HasSubstr("refused train_micro_batch_size_per_gpu"));
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 2, "reduce_bucket_size": "500000000"})")),
                      "number-as-string"),
                HasSubstr("danger zero_optimization.reduce_bucket_size"));
    EXPECT_THAT(
        found(linted(file(R"("zero_optimization": {"stage": 2, "reduce_bucket_size": "5e8"})")), "number-as-string"),
        HasSubstr("refused zero_optimization.reduce_bucket_size"));
    EXPECT_THAT(found(linted(R"({"train_batch_size": 8, "optimizer": {"type": "Adam", "params": {"lr": "1e-4"}}})"),
                      "number-as-string"),
                HasSubstr("refused optimizer.params.lr"));
}

TEST(DeepSpeedLint, Row7TheTrainingArgumentsThatHaveToAgreeAreListed) {
    DeepSpeedLaunch launch = launch_of(8);
    launch.hugging_face = true;
    EXPECT_THAT(found(linted(file(""), launch), "hf-mismatch"),
                AllOf(HasSubstr("per_device_train_batch_size=1"), HasSubstr("learning_rate=0.0001"),
                      HasSubstr("max_grad_norm=1.0")));
}

TEST(DeepSpeedLint, Rows9And33And38WhatTheDynamicScaleDoes) {
    const DeepSpeedLint lint = linted(file(R"("fp16": {"enabled": true}, "zero_optimization": {"stage": 1})"));
    EXPECT_THAT(found(lint, "scale-at-minimum"), AllOf(HasSubstr("ends the run"), HasSubstr("bf16")));
    EXPECT_THAT(found(lint, "growth-step"), HasSubstr("half as large in one step of 1001"));
    EXPECT_TRUE(lint.accepted());
    EXPECT_EQ(found(linted(file(R"("fp16": {"enabled": true, "loss_scale": 128})")), "scale-at-minimum"), "");
}

TEST(DeepSpeedLint, Rows10And11TheSchedulersPeak) {
    const auto with = [](const std::string& params) {
        return file(R"("scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear")" + params + "}}");
    };
    DeepSpeedLaunch old = launch_of(8);
    old.release = "0.17.1";
    EXPECT_THAT(found(linted(with(""), old), "warmup-max-lr"), HasSubstr("danger scheduler.params.warmup_max_lr"));
    EXPECT_THAT(found(linted(with("")), "warmup-max-lr"), HasSubstr("note scheduler.params.warmup_max_lr"));
    EXPECT_EQ(found(linted(with(R"(, "warmup_max_lr": 0.0001)"), old), "warmup-max-lr"), "");
    EXPECT_THAT(found(linted(with(R"(, "warmup_max_lr": 0.001)")), "first-rate"), HasSubstr("write one number"));
    EXPECT_EQ(found(linted(with(R"(, "warmup_max_lr": 0.0001)")), "first-rate"), "");
}

TEST(DeepSpeedLint, Row12StepsAreOptimizerUpdates) {
    const std::string text = file(R"("gradient_accumulation_steps": 4, "scheduler": {"type": "WarmupDecayLR",
        "params": {"total_num_steps": 100, "warmup_num_steps": 200, "warmup_max_lr": 0.0001, "warmup_type": "linear"}})");
    EXPECT_THAT(found(linted(text), "step-unit"), HasSubstr("(100 of them are 400 micro-batches a rank)"));
    EXPECT_THAT(found(linted(text), "warmup-steps"), HasSubstr("longer than the run of 100"));
}

TEST(DeepSpeedLint, Row13PipelineStagesTakeStage1) {
    DeepSpeedLaunch launch = launch_of(8);
    launch.pp = 2;
    for (const char* stage : {"2", "3"}) {
        const std::string text = file(fmt::format(R"("zero_optimization": {{"stage": {}}})", stage));
        EXPECT_THAT(found(linted(text, launch), "zero-and-pipeline"), HasSubstr("write stage 1"));
    }
    EXPECT_EQ(found(linted(file(R"("zero_optimization": {"stage": 1})"), launch), "zero-and-pipeline"), "");
}

TEST(DeepSpeedLint, Rows14And15CheckpointingThatDoesNothing) {
    const std::string text = file(R"("activation_checkpointing": {"cpu_checkpointing": true})");
    EXPECT_THAT(found(linted(text), "cpu-checkpointing"), AllOf(HasSubstr("ignored"), HasSubstr("write both")));
    EXPECT_THAT(found(linted(text), "checkpointing-elsewhere"), HasSubstr("note activation_checkpointing"));
    DeepSpeedLaunch launch = launch_of(8);
    launch.hugging_face = true;
    EXPECT_THAT(found(linted(text, launch), "checkpointing-elsewhere"),
                AllOf(HasSubstr("ignored"), HasSubstr("gradient_checkpointing")));
}

TEST(DeepSpeedLint, Row16KeysInTheWrongBlock) {
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 3, "aio": {"block_size": 1}})")), "wrong-block"),
                AllOf(HasSubstr("refused zero_optimization.aio"), HasSubstr("it belongs in the top level")));
    EXPECT_THAT(found(linted(file(R"("reduce_bucket_size": 1000)")), "wrong-block"),
                AllOf(HasSubstr("ignored reduce_bucket_size"), HasSubstr("it belongs in \"zero_optimization\"")));
}

TEST(DeepSpeedLint, Row17NvmeNeedsAPath) {
    const std::string text =
        file(R"("zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "pin_memory": true}})");
    EXPECT_THAT(found(linted(text), "nvme-path"), HasSubstr("refused zero_optimization.offload_optimizer.nvme_path"));
}

TEST(DeepSpeedLint, Row18TheScriptsOptimizerWithOffload) {
    const std::string zero = R"("zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}})";
    const std::string text = R"({"train_micro_batch_size_per_gpu": 1, )" + zero;
    EXPECT_THAT(found(linted(text + "}"), "client-optimizer"), HasSubstr("DeepSpeedCPUAdam"));
    EXPECT_EQ(found(linted(text + R"(, "zero_force_ds_cpu_optimizer": false})"), "client-optimizer"), "");
    EXPECT_EQ(found(linted(file(zero)), "client-optimizer"), "");
}

TEST(DeepSpeedLint, Row19ParametersAreOffloadedAtStage3Only) {
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}})")),
                      "offload-param-stage"),
                HasSubstr("ignored zero_optimization.offload_param"));
}

TEST(DeepSpeedLint, Rows20To22WhatBuffersTake) {
    DeepSpeedLaunch launch = launch_of(8);
    launch.parameters = 124'439'809;
    launch.gpus_per_node = 8;
    const DeepSpeedLint lint =
        linted(file(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": 2, "overlap_comm": true,
                "offload_optimizer": {"device": "cpu", "pin_memory": true}})"),
               launch);
    EXPECT_THAT(found(lint, "pinned-memory"), HasSubstr("1.85 GiB of page-locked"));
    EXPECT_THAT(found(lint, "bucket-above-model"), AllOf(HasSubstr("danger"), HasSubstr("write 124439808")));
    EXPECT_THAT(found(lint, "bucket-memory"), HasSubstr("500000000 elements take 1.86 GiB on each GPU, twice"));
}

TEST(DeepSpeedLint, Row23SizesOfZeROPlusPlus) {
    DeepSpeedLaunch launch = launch_of(16);
    launch.gpus_per_node = 8;
    const auto with = [](int size) {
        return file(fmt::format(R"("zero_optimization": {{"stage": 3, "zero_hpz_partition_size": {}}})", size));
    };
    EXPECT_EQ(found(linted(with(8), launch), "zero-plus-plus"), "");
    EXPECT_THAT(found(linted(with(3), launch), "zero-plus-plus"), HasSubstr("refused"));
    EXPECT_THAT(found(linted(with(16), launch), "zero-plus-plus"), HasSubstr("more than the 8 ranks of a node"));
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 3, "zero_quantized_weights": true})"), launch),
                      "zero-plus-plus"),
                HasSubstr("multiple of 8"));
}

TEST(DeepSpeedLint, Row24KeysNewerThanTheRelease) {
    DeepSpeedLaunch launch = launch_of(8);
    launch.release = "0.14.4";
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 3, "zenflow": {"topk_ratio": 0.1}})"), launch),
                      "newer-key"),
                AllOf(HasSubstr("refused zero_optimization.zenflow"), HasSubstr("0.14.4 does not know")));
    EXPECT_THAT(found(linted(file(R"("gradient_allreduce_op": "sum")"), launch), "newer-key"), HasSubstr("ignored"));
    // It came with 0.18.3.
    const std::string newer = file(R"("bf16": {"enabled": true, "bf16_optimizer_states": false})");
    launch.release = "0.18.2";
    EXPECT_THAT(found(linted(newer, launch), "newer-key"),
                AllOf(HasSubstr("refused bf16.bf16_optimizer_states"), HasSubstr("0.18.2 does not know")));
    launch.release = "0.18.3";
    EXPECT_EQ(found(linted(newer, launch), "newer-key"), "");
    EXPECT_EQ(found(linted(file(R"("gradient_allreduce_op": "sum")")), "newer-key"), "");
}

TEST(DeepSpeedLint, Row28AStage3SaveHasNoWeights) {
    EXPECT_THAT(found(linted(file(R"("zero_optimization": {"stage": 3})")), "empty-save"), HasSubstr("zero_to_fp32"));
    EXPECT_EQ(found(linted(file(R"("zero_optimization": {"stage": 3,
                "stage3_gather_16bit_weights_on_model_save": true})")),
                    "empty-save"),
              "");
}

TEST(DeepSpeedLint, Row29ResumingAtAnotherWorldSize) {
    EXPECT_THAT(
        found(linted(file(R"("zero_optimization": {"stage": 1, "elastic_checkpoint": true})")), "resume-elsewhere"),
        HasSubstr("load_universal"));
}

TEST(DeepSpeedLint, Rows30And31DefaultsThatMoved) {
    const DeepSpeedLint lint = linted(R"({"train_micro_batch_size_per_gpu": 1,
        "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}})");
    EXPECT_THAT(found(lint, "moved-default"),
                AllOf(HasSubstr("gradient_clipping: left out, it is 0.0 before 0.19.3 and 1.0 since"),
                      HasSubstr("offload_param.pin_memory: left out, it is false before 0.19.5 and true since")));
    EXPECT_THAT(found(linted(file(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": 2})")), "moved-default"),
                HasSubstr("bf16.check_grad_overflow: left out, it is false before 0.19.3 and true since"));
    EXPECT_EQ(found(linted(file("")), "moved-default"), "");
    DeepSpeedLaunch old = launch_of(8);
    old.release = "0.16.9";  // has no such key
    EXPECT_THAT(
        found(linted(file(R"("bf16": {"enabled": true}, "zero_optimization": {"stage": 2})"), old), "moved-default"),
        Not(HasSubstr("bf16")));
}

TEST(DeepSpeedLint, Row32HalfPrecisionAtStage0) {
    EXPECT_THAT(found(linted(file(R"("fp16": {"enabled": true})")), "half-at-stage-0"), HasSubstr("write stage 1"));
    EXPECT_THAT(found(linted(file(R"("bf16": {"enabled": true, "check_grad_overflow": true})")), "half-at-stage-0"),
                HasSubstr("write stage 1"));
    EXPECT_EQ(found(linted(file(R"("fp16": {"enabled": true}, "zero_optimization": {"stage": 1})")), "half-at-stage-0"),
              "");
}

TEST(DeepSpeedLint, Row34TheElasticBlockIsTheLaunchers) {
    DeepSpeedLaunch launch = launch_of(64);
    launch.gpus_per_node = 8;
    const std::string text = R"({"train_batch_size": 7680, "train_micro_batch_size_per_gpu": 2,
        "elastic": {"max_nodes": 8, "min_nodes": 4, "node_fault_tolerance": 2}})";
    EXPECT_THAT(
        found(linted(text, launch), "elastic-block"),
        AllOf(HasSubstr("ignored elastic: "), HasSubstr("torchrun --nnodes=4:8 --max-restarts=3"),
              HasSubstr("with micro-batches of 2, 13440 is the smallest batch that 4 to 8 nodes of 8 GPUs all share, "
                        "and 5760 is shared by 4, 5, 6 and 8 of them")));
}

TEST(DeepSpeedLint, Row35ElasticityBesideBatchKeys) {
    DeepSpeedLaunch launch = launch_of(8);
    launch.release = "0.18.9";
    const std::string elastic =
        R"({"elasticity": {"enabled": true, "max_train_batch_size": 2000, "micro_batch_sizes": [2, 4, 6],
            "version": 0.1, "ignore_non_elastic_batch_info": )";
    EXPECT_THAT(found(linted(elastic + R"(false}, "train_batch_size": 64})", launch), "elasticity-and-batch"),
                HasSubstr("refused train_batch_size"));
    const DeepSpeedLint ignoring = linted(elastic + R"(true}, "train_batch_size": 64})", launch);
    EXPECT_EQ(found(ignoring, "elasticity-and-batch"), "");
    EXPECT_THAT(found(ignoring, "removed"), HasSubstr("write train_batch_size 1680"));
    launch.world = 9;
    EXPECT_THAT(found(linted(elastic + "true}}", launch), "elasticity"), HasSubstr("not shared by 9"));
}

TEST(DeepSpeedLint, Rows36And37) {
    EXPECT_THAT(found(linted(R"({"train_batch_size": 8,
        "optimizer": {"type": "AdamW", "params": {"max_grad_norm": 1.0}}})"),
                      "max-grad-norm"),
                HasSubstr("write \"gradient_clipping\""));
    EXPECT_THAT(found(linted(file(R"("fp16": {"enabled": true}, "bf16": {"enabled": true})")), "fp16-and-bf16"),
                HasSubstr("turn one of them off"));
}

TEST(DeepSpeedLint, EveryPitfallIsSeenOrSaysWhereToLook) {
    const auto source = read_file(PLIMSOLL_SOURCE_DIR "/tests/interop/deepspeed/lint/deepspeed_lint_test.cpp");
    ASSERT_TRUE(source);
    std::set<int> numbers;
    for (const DeepSpeedPitfall& each : deepspeed_pitfalls()) {
        numbers.insert(each.number);
        if (each.rule.empty()) {
            EXPECT_THAT(std::string(each.where), Not(IsEmpty()));
        } else {
            EXPECT_THAT(*source, HasSubstr(fmt::format("\"{}\")", each.rule))) << "no test of " << each.rule;
        }
    }
    EXPECT_EQ(numbers.size(), 38U);
    EXPECT_EQ(*numbers.rbegin(), 38);
}

TEST(DeepSpeedLint, CommentsAndTrailingCommasAreReadAndReported) {
    const DeepSpeedLint lint =
        linted("{\n  \"train_micro_batch_size_per_gpu\": 1, // micro\n  \"gradient_clipping\": 1.0,\n}");
    EXPECT_TRUE(lint.accepted());
    EXPECT_THAT(found(lint, "strict-json"), HasSubstr("ds.json, line 2, column 40"));
}

TEST(DeepSpeedLint, WhatIsNoJsonIsAnErrorWithItsPlace) {
    const auto message = [](const std::string& text) {
        const auto lint = lint_deepspeed(text, "ds.json", launch_of(8));
        return lint ? std::string("read") : lint.error().message;
    };
    EXPECT_THAT(message("{\"train_batch_size\": NaN}"), HasSubstr("line 1, column 22"));
    EXPECT_THAT(message(R"({"a": 1, "a": 2})"), HasSubstr("stands twice"));
    EXPECT_THAT(message("[1]"), HasSubstr("is an object"));
    EXPECT_THAT(message("{\"a\": /* no end"), HasSubstr("ds.json"));
    EXPECT_THAT(message(std::string(200, '[')), HasSubstr("nested deeper"));
    DeepSpeedLaunch launch = launch_of(9);
    launch.tp = 2;
    EXPECT_THAT(lint_deepspeed("{}", "ds.json", launch).error().message, HasSubstr("not a multiple"));
    launch = launch_of(8);
    launch.release = "0.20.0";
    EXPECT_FALSE(lint_deepspeed("{}", "ds.json", launch));
}

// Each was put to DeepSpeed 0.19.8's own parser.
TEST(DeepSpeedLint, OddValuesGetTheRealParsersVerdict) {
    const auto accepted = [](const std::string& more) {
        return linted(R"({"train_batch_size": 8, "gradient_accumulation_steps": 1, )" + more + "}").accepted();
    };
    EXPECT_TRUE(accepted(R"("bf16": {"enabled": false}, "bfloat16": {"enabled": true}, "fp16": {"enabled": true})"));
    EXPECT_TRUE(accepted(R"("train_micro_batch_size_per_gpu": null)"));
    EXPECT_TRUE(accepted(R"("communication_data_type": null)"));
    EXPECT_FALSE(accepted(R"("communication_data_type": "auto")"));
    EXPECT_FALSE(accepted(R"("data_types": {"grad_accum_dtype": "auto"})"));
    EXPECT_FALSE(accepted(R"("data_types": {"keep_in_fp32_modules": "x"})"));
    EXPECT_FALSE(accepted(R"("torch_autocast": {"dtype": "auto"})"));
    EXPECT_FALSE(accepted(R"("torch_autocast": {"dtype": null})"));
    EXPECT_FALSE(accepted(R"("optimizer": {"type": {}})"));
    EXPECT_FALSE(accepted(R"("optimizer": {"type": "Adam", "params": 1})"));
    EXPECT_FALSE(accepted(R"("fp16": {"enabled": true, "loss_scale_window": true})"));
    EXPECT_FALSE(accepted(R"("checkpoint": {"writer": {"data_parallel": 0.001}})"));
    EXPECT_FALSE(linted(R"({"train_batch_size": 0.5})").accepted());
}

TEST(DeepSpeedLint, HostileValuesAreFindingsNotCrashes) {
    for (const char* value : {"null", "true", "-1", "1e308", "18446744073709551615", "[]", "{}", "\"x\"", "[[1]]"}) {
        for (const char* key :
             {"zero_optimization", "optimizer", "scheduler", "fp16", "bf16", "elasticity", "elastic",
              "activation_checkpointing", "train_batch_size", "gradient_clipping", "data_types", "amp"}) {
            for (const char* release : {"0.14.4", "0.18.9", "0.19.8"}) {
                DeepSpeedLaunch launch = launch_of(8);
                launch.release = release;
                launch.parameters = 1000;
                const std::string text =
                    fmt::format(R"({{"train_micro_batch_size_per_gpu": 1, "{}": {}}})", key, value);
                EXPECT_TRUE(lint_deepspeed(text, "ds.json", launch)) << text;
            }
        }
        for (const char* path :
             {R"("zero_optimization": {"stage": %})", R"("fp16": {"enabled": true, "loss_scale": %})",
              R"("optimizer": {"type": %, "params": %})", R"("optimizer": {"type": "Adam", "params": %})",
              R"("scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": %, "warmup_max_lr": %}})",
              R"("elasticity": {"enabled": true, "max_train_batch_size": %, "micro_batch_sizes": %})",
              R"("elastic": {"min_nodes": %, "max_nodes": %})"}) {
            std::string text = fmt::format("{{\"train_micro_batch_size_per_gpu\": 1, {}}}", path);
            for (std::size_t at = text.find('%'); at != std::string::npos; at = text.find('%'))
                text.replace(at, 1, value);
            DeepSpeedLaunch launch = launch_of(8);
            launch.release = "0.18.9";
            launch.gpus_per_node = 8;
            EXPECT_TRUE(lint_deepspeed(text, "ds.json", launch)) << text;
        }
    }
}

TEST(DeepSpeedLint, EverySentenceSaysCauseAndCure) {
    const DeepSpeedLint lint =
        linted(file(R"("foo": 1, "zero_optimization": {"stage": 4, "reduce_bucket_size": 1.5})"));
    ASSERT_GE(lint.findings.size(), 3U);
    for (const DeepSpeedFinding& each : lint.findings) EXPECT_THAT(each.sentence, HasSubstr(": "));
    EXPECT_EQ(lint.findings.front().level, Level::Refused) << "the gravest first";
}

}  // namespace
}  // namespace plimsoll
