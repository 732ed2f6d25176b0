// SPDX-License-Identifier: Apache-2.0
// The recipe in Megatron-LM's arguments.
#include <algorithm>
#include <cmath>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/exports/megatron_parts.h"

namespace plimsoll::exports::megatron_lm {

namespace {

void precision(CommandLine& line, const Numerics& numerics, Notes& notes) {
    if (numerics.dtype == Dtype::Bf16) {
        line.flag("--bf16");
        if (!numerics.fp32_gradients) line.flag("--grad-reduce-in-bf16");
    }
    if (numerics.fp32_gradients) line.flag("--accumulate-allreduce-grads-in-fp32");
    if (numerics.dtype == Dtype::Fp16) {
        line.flag("--fp16");
        if (numerics.loss_scale > 0) {
            line.number("--loss-scale", numerics.loss_scale);
        } else {
            line.number("--initial-loss-scale", std::exp2(static_cast<double>(numerics.initial_scale_power)))
                .option("--loss-scale-window", numerics.loss_scale_window)
                .option("--hysteresis", numerics.hysteresis)
                .number("--min-loss-scale", numerics.min_loss_scale);
        }
    }
    if (numerics.attention == Attention::Flash) {
        line.flag("--use-flash-attn");
    } else {
        notes.push_back(
            fmt::format("numerics.attention eager is not in {}: --attention-backend unfused comes nearest.", title));
    }
}

/// Moments in bf16 are the precision-aware optimizer's, which is part of the distributed optimizer and is Adam.
bool has_bf16_moments(const Plan& plan) {
    return plan.optimizer.state_dtype == Dtype::Bf16 && plan.optimizer.kind == OptimizerKind::AdamW &&
           plan.layout.zero_stage > 0;
}

void optimizer(CommandLine& line, const Plan& plan, Notes& notes) {
    note_precision(plan, title,
                   {.masters = true,
                    .instead = "fp32 masters are kept beside weights in the dtype",
                    .state_dtype = has_bf16_moments(plan)},
                   notes);
    const Optimizer& wanted = plan.optimizer;
    if (wanted.kind == OptimizerKind::Sgd) {
        line.option("--optimizer", "sgd").number("--sgd-momentum", wanted.momentum);
    } else {
        line.option("--optimizer", "adam")
            .number("--adam-beta1", wanted.beta1)
            .number("--adam-beta2", wanted.beta2)
            .number("--adam-eps", wanted.eps);
    }
    if (wanted.kind != OptimizerKind::Sgd && wanted.kind != OptimizerKind::AdamW) {
        notes.push_back(
            fmt::format("optimizer.kind {} is not in {}: adam stands in its place.", name_of(wanted.kind), title));
    }
    line.number("--lr", peak_learning_rate(plan))
        .number("--weight-decay", wanted.weight_decay)
        .number("--clip-grad", wanted.clip);
    if (has_bf16_moments(plan)) {
        line.flag("--use-precision-aware-optimizer")
            .option("--exp-avg-dtype", "bf16")
            .option("--exp-avg-sq-dtype", "bf16");
    }
    if (plan.layout.offload_optimizer != Offload::None) {
        // The offload is part of the precision-aware optimizer, which is part of the distributed optimizer.
        line.flag("--optimizer-cpu-offload");
        if (!has_bf16_moments(plan)) line.flag("--use-precision-aware-optimizer");
        if (plan.layout.offload_optimizer == Offload::Nvme) {
            notes.push_back(fmt::format("Offload to NVMe is not in {}: the optimizer goes to host memory.", title));
        }
    }
    if (plan.layout.offload_parameters != Offload::None) {
        notes.push_back(fmt::format("layout.offload_parameters is not in {}: they stay on the GPUs.", title));
    }
}

void learning_rate(CommandLine& line, const Plan& plan, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    const double peak = peak_learning_rate(plan);
    const std::int64_t warmup = warmup_updates(lr, plan.training.steps);
    const char* style = "cosine";
    bool alike = !lr.tail && lr.warmup_shape == LrShape::Linear;
    switch (lr.kind) {
        case LrKind::Constant:
        case LrKind::TransformersConstant:
            style = "constant";
            break;
        case LrKind::Linear:
        case LrKind::TransformersLinear:
            style = "linear";
            break;
        case LrKind::Cosine:
        case LrKind::TransformersCosine:
        case LrKind::TransformersCosineMinLr:
            break;
        case LrKind::InverseSqrt:
            style = "inverse-square-root";
            break;
        case LrKind::Wsd:
            style = "WSD";
            break;
        default:
            alike = false;
    }
    line.option("--lr-decay-style", style)
        .option("--lr-warmup-iters", warmup)
        // The warmup has to be shorter than the decay, which counts from the first step
        // (megatron/core/optimizer_param_scheduler.py:160); a warmup of all steps is over before the decay begins.
        .option("--lr-decay-iters", std::max(plan.training.steps, warmup + 1))
        .number("--lr-warmup-init", peak * lr.warmup_start_ratio)
        .number("--min-lr", lr.kind == LrKind::Constant ? peak : peak * lr.min_ratio);
    if (lr.kind == LrKind::Wsd) {
        line.option("--lr-wsd-decay-iters", decay_updates(lr, plan.training.steps))
            .option("--lr-wsd-decay-style", lr.decay_shape == LrShape::Cosine         ? "cosine"
                                            : lr.decay_shape == LrShape::OneMinusSqrt ? "minus_sqrt"
                                                                                      : "linear");
    }
    if (!alike) {
        notes.push_back(
            fmt::format("Megatron-LM has no schedule like lr.kind {}: {} is the nearest.", name_of(lr.kind), style));
    }
}

}  // namespace

void recipe(CommandLine& line, const Plan& plan, Notes& notes) {
    optimizer(line, plan, notes);
    learning_rate(line, plan, notes);
    precision(line, plan.numerics, notes);
    line.option("--seed", plan.training.seed);
}

}  // namespace plimsoll::exports::megatron_lm
