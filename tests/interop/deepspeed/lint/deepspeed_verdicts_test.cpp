// SPDX-License-Identifier: Apache-2.0
// Verdicts on small files, each of which was put to DeepSpeed 0.19.8 or read from the sources of the release named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/interop/deepspeed/lint/deepspeed_lint.h"

namespace plimsoll {
namespace {

using Level = DeepSpeedFinding::Level;

struct Row {
    const char* what;
    std::string text;  ///< what follows "train_batch_size": 8, "gradient_clipping": 1.0
    const char* rule;
    const char* key;
    const char* level;  ///< of the rule's finding on the key; "": there is none
    const char* release = "0.19.8";
    bool hugging_face = false;
    std::int64_t world = 8;
};

std::string level_of(const DeepSpeedLint& lint, const Row& row) {
    for (const DeepSpeedFinding& each : lint.findings) {
        if (each.rule == row.rule && each.key == row.key) return std::string(level_name(each.level));
    }
    return "";
}

void expect_verdicts(const std::vector<Row>& rows, const std::string& head) {
    for (const Row& row : rows) {
        SCOPED_TRACE(row.what);
        DeepSpeedLaunch launch;
        launch.world = row.world;
        launch.release = row.release;
        launch.hugging_face = row.hugging_face;
        const std::string text = head + row.text + "}";
        const auto lint = lint_deepspeed(text, "ds.json", launch);
        ASSERT_TRUE(lint) << lint.error().message;
        EXPECT_EQ(level_of(*lint, row), row.level) << text << "\n" << to_json(*lint, launch).dump(1);
    }
}

const std::string with_batch = R"({"train_batch_size": 8, "gradient_clipping": 1.0)";

TEST(DeepSpeedVerdicts, WhatIsNoTroubleIsNotReported) {
    const char* const moved = "moved-default";
    const std::string clipping = R"({"train_micro_batch_size_per_gpu": "auto", "gradient_clipping": "auto")";
    expect_verdicts({{"clipping by the training arguments", "", moved, "gradient_clipping", "", "0.19.8", true},
                     {"the same without them", "", moved, "gradient_clipping", ""},
                     {"which plain DeepSpeed keeps as a text", "", "auto", "gradient_clipping", "danger"}},
                    clipping);
    const std::string overflow = "bf16.check_grad_overflow";
    expect_verdicts(
        {{"nobody checks bf16 overflows at stage 0", R"(, "bf16": {"enabled": true})", moved, overflow.c_str(), ""},
         {"nor at stage 3", R"(, "bf16": {"enabled": true}, "zero_optimization": {"stage": 3})", moved,
          overflow.c_str(), ""},
         {"stage 2 does", R"(, "bf16": {"enabled": true}, "zero_optimization": {"stage": 2})", moved, overflow.c_str(),
          "note"},
         {"stage 1 with fp32 gradients has an optimizer of its own",
          R"(, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"}, "zero_optimization": {"stage": 1})",
          moved, overflow.c_str(), ""},
         {"parameters are pinned at stage 3 only",
          R"(, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}})", moved,
          "zero_optimization.offload_param.pin_memory", ""},
         {"there they are", R"(, "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}})", moved,
          "zero_optimization.offload_param.pin_memory", "note"},
         {"torch's own name of a dtype", R"(, "torch_autocast": {"enabled": true, "dtype": "torch.bfloat16"})", "value",
          "torch_autocast.dtype", ""},
         {"in data types as well", R"(, "data_types": {"grad_accum_dtype": "torch.bfloat16"}, "bf16": {"enabled": true},
            "zero_optimization": {"stage": 1})",
          "value", "data_types.grad_accum_dtype", ""},
         {"torch has no half of that name", R"(, "torch_autocast": {"dtype": "torch.half"})", "value",
          "torch_autocast.dtype", "refused"},
         {"a boolean as a string", R"(, "bf16": {"enabled": "true"})", "type", "bf16.enabled", ""},
         {"which counts", R"(, "bf16": {"enabled": "true"})", "half-at-stage-0", "zero_optimization.stage", "danger"},
         {"and is a note", R"(, "bf16": {"enabled": "true"})", "boolean-as-string", "bf16.enabled", "note"},
         {"another text is no boolean", R"(, "bf16": {"enabled": "maybe"})", "type", "bf16.enabled", "refused"}},
        with_batch);
}

TEST(DeepSpeedVerdicts, SequenceParallelRanksDivideTheWorld) {
    const std::string head = R"({"train_batch_size": 1, "train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0,
        "gradient_accumulation_steps": 1, "sequence_parallel_size": 2)";
    const char* const product = "batch-product";
    expect_verdicts(
        {{"two ranks are one", "", product, "train_batch_size", "", "0.19.8", false, 2},
         {"one is half a rank", "", "sequence-parallel", "sequence_parallel_size", "refused", "0.19.8", false, 1},
         {"not before 0.17.0", "", product, "train_batch_size", "refused", "0.16.9", false, 2},
         {"a mesh since 0.15.0", R"(, "data_parallel_size": 1)", product, "train_batch_size", "", "0.16.9", false, 2},
         {"which has to fit", R"(, "data_parallel_size": 3)", "sequence-parallel", "data_parallel_size", "refused",
          "0.19.8", false, 2}},
        head);
}

TEST(DeepSpeedVerdicts, WhatDeepSpeedRefusesIsRefused) {
    const char* const sum = "gradient_allreduce_op";
    expect_verdicts(
        {{"sums at stage 3", R"(, "gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3})",
          "summed-gradients", sum, "refused"},
         {"in any case", R"(, "gradient_allreduce_op": "SUM", "zero_optimization": {"stage": 3})", "summed-gradients",
          sum, "refused"},
         {"sums with ZenFlow",
          R"(, "gradient_allreduce_op": "sum", "zero_optimization": {"stage": 2, "zenflow": {"topk_ratio": 0.1}})",
          "summed-gradients", sum, "refused"},
         {"sums with DeepCompile", R"(, "gradient_allreduce_op": "sum", "compile": {"deepcompile": true})",
          "summed-gradients", sum, "refused"},
         {"sums at stage 2", R"(, "gradient_allreduce_op": "sum", "zero_optimization": {"stage": 2})",
          "summed-gradients", sum, ""},
         {"which no release before 0.19.6 reads",
          R"(, "gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3})", "summed-gradients", sum, "",
          "0.19.5"},
         {"a name beside its alias",
          R"(, "zero_optimization": {"stage": 3, "max_live_parameters": 0, "stage3_max_live_parameters": 1000})",
          "two-names", "zero_optimization.max_live_parameters", "refused"},
         {"the name alone", R"(, "zero_optimization": {"stage": 3, "max_live_parameters": 0})", "two-names",
          "zero_optimization.max_live_parameters", ""},
         {"AMSGrad", R"(, "optimizer": {"type": "adamw", "params": {"lr": 0.001, "amsgrad": true}})", "amsgrad",
          "optimizer.params.amsgrad", "refused"},
         {"of torch", R"(, "optimizer": {"type": "adamw", "params": {"amsgrad": true, "torch_adam": true}})", "amsgrad",
          "optimizer.params.amsgrad", ""},
         {"on the CPU it was ignored before 0.19.8",
          R"(, "optimizer": {"type": "adamw", "params": {"amsgrad": true}},
             "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}})",
          "amsgrad", "optimizer.params.amsgrad", "ignored", "0.19.7"}},
        with_batch);
}

TEST(DeepSpeedVerdicts, AutoThatNobodyFillsInIsReportedUnderHuggingFaceToo) {
    const std::string head = R"({"train_batch_size": "auto", "gradient_clipping": "auto")";
    const auto stage3 = [](const std::string& more) { return R"(, "zero_optimization": {"stage": 3, )" + more + "}"; };
    expect_verdicts(
        {{"a bucket that both fill in", stage3(R"("stage3_prefetch_bucket_size": "auto")"), "auto",
          "zero_optimization.stage3_prefetch_bucket_size", "", "0.19.8", true},
         {"a device that Accelerate fills in", stage3(R"("offload_param": {"device": "auto"})"), "auto",
          "zero_optimization.offload_param.device", "", "0.19.8", true},
         {"live parameters", stage3(R"("stage3_max_live_parameters": "auto")"), "auto",
          "zero_optimization.stage3_max_live_parameters", "danger", "0.19.8", true},
         {"a buffer", stage3(R"("offload_param": {"device": "cpu", "buffer_size": "auto"})"), "auto",
          "zero_optimization.offload_param.buffer_size", "danger", "0.19.8", true},
         {"progress", R"(, "steps_per_print": "auto")", "auto", "steps_per_print", "danger", "0.19.8", true},
         {"a word that DeepSpeed takes at once", R"(, "communication_data_type": "auto")", "auto",
          "communication_data_type", "refused", "0.19.8", true},
         {"stages of a pipeline have it as their own", R"(, "pipeline": {"stages": "auto"})", "auto", "pipeline.stages",
          "", "0.19.8", true}},
        head);
}

TEST(DeepSpeedVerdicts, NamesThatNothingReads) {
    expect_verdicts({{"data-parallel ranks without sequence-parallel ones", R"(, "data_parallel_size": 2)",
                      "unread-key", "data_parallel_size", "ignored"},
                     {"an old bucket beside a block", R"(, "allgather_size": 5, "zero_optimization": {"stage": 1})",
                      "unread-key", "allgather_size", "ignored"},
                     {"which the old form reads", R"(, "allgather_size": 5, "zero_optimization": true)", "unread-key",
                      "allgather_size", ""},
                     {"an old name beside the new", R"(, "bfloat16": {"enabled": true}, "bf16": {"enabled": true})",
                      "unread-key", "bfloat16", "ignored"}},
                    with_batch);
    const auto lint = lint_deepspeed(with_batch + R"(, "pipe-parallel-size": 2})", "ds.json", {.world = 8});
    ASSERT_TRUE(lint);
    for (const DeepSpeedFinding& each : lint->findings)
        EXPECT_THAT(each.sentence, ::testing::Not(::testing::HasSubstr("data_parallel_size"))) << "read by nobody";
}

TEST(DeepSpeedVerdicts, ChecksCameWithTheirReleases) {
    const auto warmup = [](const char* steps) {
        return fmt::format(
            R"(, "optimizer": {{"type": "AdamW", "params": {{"lr": 1e-4}}}}, "scheduler": {{"type": "WarmupLR",
            "params": {{"warmup_max_lr": 1e-4, "warmup_type": "linear", "warmup_num_steps": {}}}}})",
            steps);
    };
    const char* const steps = "scheduler.params.warmup_num_steps";
    const std::string scale = R"(, "zero_optimization": {"stage": 1}, "fp16": {"enabled": true, "loss_scale": -1})";
    const std::string plain_bf16 = R"(, "bf16": {"enabled": true})";
    const std::string fp32_sums = R"(, "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"})";
    expect_verdicts(
        {{"no warmup", warmup("0"), "warmup-steps", steps, "refused", "0.19.3"},
         {"counted as 2 before", warmup("0"), "warmup-steps", steps, "", "0.19.2"},
         {"and wasted two updates", warmup("0"), "wasted-updates", steps, "danger", "0.19.2"},
         {"as one does today", warmup("1"), "wasted-updates", steps, "danger"},
         {"two are what DeepSpeed makes of less", warmup("2"), "wasted-updates", steps, ""},
         {"a fraction", warmup("10.5"), "warmup-steps", steps, "refused"},
         {"hjson reads a whole number", warmup("10.0"), "warmup-steps", steps, ""},
         {"the Trainer's JSON does not", warmup("10.0"), "warmup-steps", steps, "refused", "0.19.8", true},
         {"a loss scale below 0", scale, "loss-scale", "fp16.loss_scale", "refused", "0.18.8"},
         {"was not checked", scale, "loss-scale", "fp16.loss_scale", "danger", "0.18.7"},
         {"bf16 without ZeRO", plain_bf16, "half-at-stage-0", "zero_optimization.stage", "danger", "0.17.6"},
         {"was refused", plain_bf16, "half-at-stage-0", "zero_optimization.stage", "refused", "0.17.5"},
         {"but with gradients in fp32", fp32_sums, "half-at-stage-0", "zero_optimization.stage", "danger", "0.17.5"},
         {"which were taken", fp32_sums, "gradient-dtype", "data_types.grad_accum_dtype", "", "0.18.4"},
         {"until 0.18.5", fp32_sums, "gradient-dtype", "data_types.grad_accum_dtype", "refused", "0.18.5"},
         {"a cosine", R"(, "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 9}})",
          "scheduler-type", "scheduler.type", "refused", "0.12.2"},
         {"came with 0.12.3", R"(, "scheduler": {"type": "WarmupCosineLR", "params": {"total_num_steps": 9}})",
          "scheduler-type", "scheduler.type", "", "0.12.3"},
         {"Lion", R"(, "optimizer": {"type": "Lion", "params": {"lr": 1e-4}})", "optimizer-type", "optimizer.type",
          "refused", "0.10.3"},
         {"came with 0.11.0", R"(, "optimizer": {"type": "Lion", "params": {"lr": 1e-4}})", "optimizer-type",
          "optimizer.type", "", "0.11.0"},
         {"a block of a later release", R"(, "comet": {"enabled": true})", "newer-key", "comet.enabled", "ignored",
          "0.9.0"},
         {"a key of a later release", R"(, "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8})",
          "newer-key", "zero_optimization.zero_hpz_partition_size", "refused", "0.9.5"},
         {"there it is", R"(, "zero_optimization": {"stage": 3, "zero_hpz_partition_size": 8})", "newer-key",
          "zero_optimization.zero_hpz_partition_size", "", "0.10.0"},
         {"threads by their old name", R"(, "aio": {"thread_count": 2})", "unknown-key", "aio.thread_count", "",
          "0.16.3"},
         {"which nobody reads since", R"(, "aio": {"thread_count": 2})", "unknown-key", "aio.thread_count", "ignored",
          "0.16.4"},
         {"AMP beside ZeRO", R"(, "amp": {"enabled": true}, "zero_optimization": {"stage": 1})", "amp-and-zero",
          "amp.enabled", "refused", "0.19.7"}},
        with_batch);
}

TEST(DeepSpeedVerdicts, OldFormsThatTheReleaseReadsLeaveAFileClean) {
    struct File {
        const char* text;
        const char* release;
        const char* rule;
    };
    const File files[] = {
        {R"({"train_batch_size": 8, "gradient_clipping": 1.0, "optimizer": {"type": "AdamW"},
             "zero_optimization": {"stage": 2, "cpu_offload": true}})",
         "0.19.8", "deprecated"},
        {R"({"train_batch_size": 8, "gradient_clipping": 1.0, "zero_optimization": true})", "0.19.8", "zero-boolean"},
        {R"({"train_batch_size": 8, "gradient_clipping": 1.0, "sparse_gradients": false})", "0.18.9", "removed"}};
    for (const File& file : files) {
        const auto lint = lint_deepspeed(file.text, "ds.json", {.world = 8, .release = file.release});
        ASSERT_TRUE(lint) << lint.error().message;
        EXPECT_TRUE(lint->clean()) << to_json(*lint, {}).dump(1);
        EXPECT_EQ(lint->troubles(), 0U);
        const bool found = std::any_of(lint->findings.begin(), lint->findings.end(), [&](const auto& each) {
            return each.rule == file.rule && each.level == Level::Deprecated;
        });
        EXPECT_TRUE(found) << file.rule;
    }
    // A key that is left out is no trouble in a release that is named.
    const auto lint = lint_deepspeed(R"({"train_batch_size": 8})", "ds.json", {.world = 8});
    ASSERT_TRUE(lint);
    EXPECT_TRUE(lint->clean());
}

TEST(DeepSpeedVerdicts, AFileInHjsonIsReadAsDeepSpeedReadsIt) {
    for (const char* text : {"{\n  \"train_batch_size\": 8\n  \"gradient_clipping\": 1.0\n}",
                             "{\n  train_batch_size: 8\n  gradient_clipping: 1.0 # all\n}",
                             "{\"train_batch_size\": 8, \"gradient_clipping\": 1.0, \"optimizer\": {\"type\": Adam\n, "
                             "\"params\": {\"lr\": 1e-4}}}"}) {
        const auto lint = lint_deepspeed(text, "ds.json", {.world = 8});
        ASSERT_TRUE(lint) << text << lint.error().message;
        EXPECT_TRUE(lint->clean()) << text << to_json(*lint, {}).dump(1);
        const auto trainer = lint_deepspeed(text, "ds.json", {.world = 8, .hugging_face = true});
        ASSERT_TRUE(trainer);
        EXPECT_FALSE(trainer->clean()) << "the Trainer reads strict JSON alone";
    }
}

}  // namespace
}  // namespace plimsoll
