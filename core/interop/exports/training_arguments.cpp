// SPDX-License-Identifier: Apache-2.0
// transformers' TrainingArguments (release 5.24).
#include <algorithm>

#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/exports/export_parts.h"

namespace plimsoll::exports {

namespace {

constexpr std::string_view trainer_name = "the training arguments";

void no_own_curve(const Plan& plan, std::string_view nearest, Notes& notes) {
    notes.push_back(
        fmt::format("transformers has no schedule like lr.kind {}{}: {} is the nearest; for the plan's rates "
                    "pass a scheduler of your own to the Trainer.",
                    name_of(plan.lr.kind), plan.lr.tail ? " with a tail" : "", nearest));
}

/// Polynomial decay has a floor, which transformers' linear has not.
void linear(Json& json, const Plan& plan, double power) {
    const double floor = peak_learning_rate(plan) * plan.lr.min_ratio;
    json["lr_scheduler_type"] = "polynomial";
    json["lr_scheduler_kwargs"] = {{"lr_end", floor}, {"power", power}};
}

void cosine(Json& json, const Plan& plan) {
    if (plan.lr.min_ratio > 0) {
        json["lr_scheduler_type"] = "cosine_with_min_lr";
        json["lr_scheduler_kwargs"] = {{"min_lr_rate", plan.lr.min_ratio}};
    } else {
        json["lr_scheduler_type"] = "cosine";
    }
}

void stable_decay(Json& json, const Plan& plan) {
    const LrSchedule& lr = plan.lr;
    const char* shape = lr.decay_shape == LrShape::Cosine         ? "cosine"
                        : lr.decay_shape == LrShape::OneMinusSqrt ? "1-sqrt"
                                                                  : "linear";
    json["lr_scheduler_type"] = "warmup_stable_decay";
    json["lr_scheduler_kwargs"] = {{"num_decay_steps", decay_updates(lr, plan.training.steps)},
                                   {"min_lr_ratio", lr.min_ratio},
                                   {"decay_type", shape}};
}

void schedule(Json& json, const Plan& plan, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    json["warmup_steps"] = warmup_updates(lr, plan.training.steps);
    const bool plain =
        !lr.tail && (lr.warmup_shape == LrShape::Linear || lr.warmup_steps == 0) && lr.warmup_start_ratio == 0;
    switch (lr.kind) {
        case LrKind::Constant:
        case LrKind::TransformersConstant:
            json["lr_scheduler_type"] = "constant_with_warmup";
            break;
        case LrKind::TransformersLinear:
            json["lr_scheduler_type"] = "linear";
            break;
        case LrKind::Linear:
            if (lr.min_ratio > 0) {
                linear(json, plan, 1);
            } else {
                json["lr_scheduler_type"] = "linear";
            }
            break;
        case LrKind::Polynomial:
        case LrKind::TransformersPolynomial:
            linear(json, plan, lr.power);
            break;
        case LrKind::Cosine:
            cosine(json, plan);
            break;
        case LrKind::TransformersCosine:
            json["lr_scheduler_type"] = "cosine";
            if (lr.cycles > 0) json["lr_scheduler_kwargs"] = {{"num_cycles", lr.cycles}};
            break;
        case LrKind::TransformersCosineRestarts:
            json["lr_scheduler_type"] = "cosine_with_restarts";
            json["lr_scheduler_kwargs"] = {
                {"num_cycles", std::max<std::int64_t>(static_cast<std::int64_t>(lr.cycles), 1)}};
            break;
        case LrKind::TransformersCosineMinLr:
            json["lr_scheduler_type"] = "cosine_with_min_lr";
            json["lr_scheduler_kwargs"] = {{"min_lr_rate", lr.min_ratio}};
            break;
        case LrKind::TransformersCosineWarmupMinLr:
            json["lr_scheduler_type"] = "cosine_warmup_with_min_lr";
            json["lr_scheduler_kwargs"] = {{"min_lr_rate", lr.min_ratio}};
            break;
        case LrKind::TransformersInverseSqrt:
        case LrKind::InverseSqrt:
            json["lr_scheduler_type"] = "inverse_sqrt";
            break;
        case LrKind::Wsd:
        case LrKind::TransformersWsd:
            stable_decay(json, plan);
            break;
        default:
            cosine(json, plan);
            no_own_curve(plan, json["lr_scheduler_type"].get<std::string>(), notes);
            return;
    }
    const bool own = name_of(lr.kind).starts_with("transformers/");
    if (!own && !plain) no_own_curve(plan, json["lr_scheduler_type"].get<std::string>(), notes);
    if (!own && json["warmup_steps"] > 0) {
        notes.push_back("transformers' warmup starts at rate 0, one update behind the plan's.");
    }
}

void trainer_optimizer(Json& json, const Plan& plan, Notes& notes) {
    const Optimizer& wanted = plan.optimizer;
    json["learning_rate"] = peak_learning_rate(plan);
    json["weight_decay"] = wanted.weight_decay;
    json["max_grad_norm"] = wanted.clip;
    switch (wanted.kind) {
        case OptimizerKind::AdamW:
            json["optim"] = "adamw_torch";
            break;
        case OptimizerKind::AdamW8bit:
            json["optim"] = "adamw_8bit";
            break;
        case OptimizerKind::Adafactor:
            json["optim"] = "adafactor";
            break;
        case OptimizerKind::Sgd:
            json["optim"] = "sgd";
            if (wanted.momentum > 0) {
                notes.push_back(
                    fmt::format("optimizer.momentum {:g} is not in {}: the Trainer's SGD has none; pass "
                                "optimizers=(torch.optim.SGD(…), …) to it.",
                                wanted.momentum, trainer_name));
            }
            return;
        case OptimizerKind::Lamb:
            json["optim"] = "adamw_torch";
            notes.push_back(
                "transformers has no LAMB: adamw_torch stands in its place; pass optimizers=(…) to the Trainer.");
            break;
    }
    if (wanted.kind == OptimizerKind::Adafactor) return;
    json["adam_beta1"] = wanted.beta1;
    json["adam_beta2"] = wanted.beta2;
    json["adam_epsilon"] = wanted.eps;
}

/// Words of transformers for an update without masters: optimizers of torchdistX and torchao.
PrecisionWords trainer_precision(Json& json, const Plan& plan, Notes& notes) {
    const Numerics& numerics = plan.numerics;
    PrecisionWords words{.masters = plan.layout.zero_stage > 0,  // by DeepSpeed
                         .autocast = true,
                         .pure = true,
                         .instead = "fp32 weights are cast where they are used, as under numerics.weights autocast,"};
    if (!numerics.half()) return words;
    if (numerics.weights == WeightCopies::Autocast) {
        notes.push_back("numerics.weights autocast needs a model in fp32: load it with dtype=torch.float32.");
    }
    if (numerics.weights != WeightCopies::Pure) return words;
    notes.push_back(
        "numerics.weights pure needs a model in bf16: load it with dtype=torch.bfloat16, and weights, gradients and "
        "the states of PyTorch's optimizers are in bf16.");
    if (numerics.rounding == Rounding::Kahan && plan.optimizer.kind == OptimizerKind::AdamW) {
        const char* states = plan.optimizer.state_dtype == Dtype::Bf16 ? "bfloat16" : "float32";
        json["optim"] = "adamw_anyprecision";
        json["optim_args"] = fmt::format("use_kahan_summation=True,momentum_dtype={0},variance_dtype={0}", states);
        notes.push_back("optim adamw_anyprecision, which keeps Kahan sums, needs the package torchdistX.");
        words.kahan = words.state_dtype = true;
    }
    if (numerics.rounding == Rounding::Stochastic && plan.optimizer.kind == OptimizerKind::AdamW8bit) {
        json["optim"] = "adamw_torch_8bit";
        json["optim_args"] = "bf16_stochastic_round=True";
        notes.push_back("optim adamw_torch_8bit, which rounds at random, needs the package torchao.");
        words.stochastic = true;
    }
    return words;
}

void trainer_recompute(Json& json, const Plan& plan, Notes& notes) {
    json["gradient_checkpointing"] = plan.layout.recompute != Recompute::None;
    const std::string_view name = name_of(plan.layout.recompute);
    if (plan.layout.recompute == Recompute::Selective || plan.layout.recompute == Recompute::Mlp) {
        notes.push_back(fmt::format("layout.recompute {} is not in {}: gradient_checkpointing recomputes whole layers.",
                                    name, trainer_name));
    }
    if (plan.layout.recompute_every > 1 || plan.layout.recompute_stages > 0) {
        notes.push_back(fmt::format(
            "layout.recompute_every and recompute_stages are not in {}: every layer is recomputed.", trainer_name));
    }
}

}  // namespace

Json training_arguments(const Plan& plan, const Unsaid& unsaid, Notes& notes) {
    const Training& training = plan.training;
    Json json{{"per_device_train_batch_size", plan.layout.micro_batch},
              {"gradient_accumulation_steps", plan.layout.accumulation},
              {"max_steps", training.steps}};
    trainer_optimizer(json, plan, notes);
    schedule(json, plan, notes);
    json["bf16"] = plan.numerics.dtype == Dtype::Bf16;
    json["fp16"] = plan.numerics.dtype == Dtype::Fp16;
    note_precision(plan, trainer_name, trainer_precision(json, plan, notes), notes);
    trainer_recompute(json, plan, notes);
    json["seed"] = training.seed;
    json["logging_steps"] = 1;
    json["save_strategy"] = training.checkpoint_every > 0 ? "steps" : "no";
    if (training.checkpoint_every > 0) {
        json["save_steps"] = training.checkpoint_every;
        json["save_total_limit"] = std::max<std::int64_t>(training.keep_checkpoints, 1);
    }
    if (plan.cluster.on_cpu()) json["use_cpu"] = true;
    if (plan.numerics.dtype == Dtype::Fp16) {
        notes.push_back(fmt::format(
            "The loss scale (numerics.loss_scale …) is not in {}: torch.amp's GradScaler chooses it, or the "
            "DeepSpeed file.",
            trainer_name));
    }
    note_parallelism(plan, trainer_name, unsaid, notes);
    note_rest(plan, trainer_name, notes);
    note_stability(plan, trainer_name, {}, notes);
    return json;
}

Result<ExportedText> training_arguments_file(const Plan& plan) {
    ExportedText out;
    Json json{{"output_dir", fmt::format("out/{}", job_name(plan))}};
    json.update(training_arguments(plan, whole_layout, out.notes));
    if (plan.layout.zero_stage > 0) {
        out.notes.push_back(fmt::format(
            "ZeRO stage {} and its offload are not in these arguments: add \"deepspeed\": \"ds.json\" (plimsoll "
            "export deepspeed) without its train_batch_size and scheduler, or launch with accelerate.",
            plan.layout.zero_stage));
    }
    out.notes.push_back(
        fmt::format("The data and the sequence length ({}) are set in the script.", plan.data.sequence_length));
    if (plan.numerics.attention == Attention::Flash) {
        out.notes.push_back(
            fmt::format("numerics.attention is not in {}: load the model with "
                        "attn_implementation=\"flash_attention_2\" or \"sdpa\".",
                        trainer_name));
    }
    note_adapters(plan, "TrainingArguments", true, out.notes);
    note_weights(plan, "TrainingArguments", from_pretrained(plan), out.notes);
    out.text = to_json_text(json);
    return out;
}

}  // namespace plimsoll::exports
