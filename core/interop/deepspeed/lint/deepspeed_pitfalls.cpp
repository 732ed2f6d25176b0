// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed's users trip over, from its public issues and those of its neighbours.
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

namespace plimsoll {

const std::vector<DeepSpeedPitfall>& deepspeed_pitfalls() {
    static const std::vector<DeepSpeedPitfall> pitfalls{
        {1, "a misspelt key is ignored in silence", "unknown-key", ""},
        {2, "the product of the three batch numbers is not the batch", "batch-product", ""},
        {3, "ZeRO-3 with Hugging Face checks the batch against one rank", "hf-zero3-batch", ""},
        {4, "\"auto\" without Hugging Face", "auto", ""},
        {5, "a bucket size with a fraction", "fractional", ""},
        {6, "a number as a string", "number-as-string", ""},
        {7, "the file contradicts the training arguments", "hf-mismatch", ""},
        {8, "min_loss_scale of 0.5", "fractional", ""},
        {9, "the loss scale is at its minimum and the run ends", "scale-at-minimum", ""},
        {10, "WarmupLR overrides the optimizer's learning rate", "warmup-max-lr", ""},
        {11, "the first update runs at another rate than the schedule's", "first-rate", ""},
        {12, "which steps a schedule counts", "step-unit", ""},
        {13, "ZeRO-2 or 3 with pipeline stages", "zero-and-pipeline", ""},
        {14, "activation_checkpointing has no effect", "checkpointing-elsewhere", ""},
        {15, "cpu_checkpointing without partition_activations", "cpu-checkpointing", ""},
        {16, "aio inside zero_optimization", "wrong-block", ""},
        {17, "nvme without a path", "nvme-path", ""},
        {18, "the script's optimizer with optimizer offload", "client-optimizer", ""},
        {19, "offload_param below stage 3", "offload-param-stage", ""},
        {20, "page-locked memory runs out", "pinned-memory", ""},
        {21, "reduce_bucket_size above the model", "bucket-above-model", ""},
        {22, "what a bucket takes", "bucket-memory", ""},
        {23, "sizes of ZeRO++", "zero-plus-plus", ""},
        {24, "a key newer than the release", "newer-key", ""},
        {25, "a config file beside DeepSpeed keys in Accelerate's YAML", "",
         "in Accelerate's file: with deepspeed_config_file, no other DeepSpeed key may stand there (the export writes none)"},
        {26, "accumulation set in two places", "",
         "in the script: where Accelerate or the Trainer takes the file, its gradient_accumulation_steps is the only one"},
        {27, "accumulation in Lightning and in the file", "",
         "in the script: Lightning sets it from accumulate_grad_batches; leave it out of the file"},
        {28, "a ZeRO-3 save without weights", "empty-save", ""},
        {29, "resuming at another world size", "resume-elsewhere", ""},
        {30, "the default of gradient_clipping moved", "moved-default", ""},
        {31, "the overflow check of bf16 moved", "moved-default", ""},
        {32, "fp16 or bf16 at stage 0", "half-at-stage-0", ""},
        {33, "the step in which the loss scale grows", "growth-step", ""},
        {34, "the elastic launcher and its removal", "elastic-block", ""},
        {35, "elasticity beside batch keys", "elasticity-and-batch", ""},
        {36, "max_grad_norm among the optimizer's parameters", "max-grad-norm", ""},
        {37, "fp16 with bf16", "fp16-and-bf16", ""},
        {38, "overflows without end", "scale-at-minimum", ""},
    };
    return pitfalls;
}

}  // namespace plimsoll
