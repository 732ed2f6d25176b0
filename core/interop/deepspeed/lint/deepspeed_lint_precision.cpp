// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

/// precision_config.py of the releases: loss_scale is checked since the one, what a dynamic scale needs since the other.
constexpr DeepSpeedRelease scale_validated{18, 8};
constexpr DeepSpeedRelease scaler_validated{19, 3};
/// engine.py, _do_optimizer_sanity_check: the first release with a bf16 optimizer without ZeRO, and the first that does
/// not accumulate its gradients in fp32.
constexpr DeepSpeedRelease plain_bf16{17, 6};
constexpr DeepSpeedRelease no_fp32_sums{18, 5};

void check_loss_scale(Case& c) {
    const Json* scale = c.at("fp16.loss_scale");
    if (!scale || (scale->is_number() && *scale >= 0)) return;
    constexpr std::string_view cure = "write 0 for a dynamic scale, or a number above it";
    if (scale->is_boolean() || scale->is_number()) {
        if (c.release >= scale_validated) {
            c.refused("loss-scale", "fp16.loss_scale", "{} is no loss scale: {}", shown(*scale), cure);
        } else {
            c.danger("loss-scale", "fp16.loss_scale", "{} is no loss scale, which DeepSpeed does not check: {}",
                     shown(*scale), cure);
        }
    }
}

void check_positive(Case& c, const char* key, const char* fails) {
    const Json* value = c.at(key);
    if (value && value->is_boolean() && c.release >= scaler_validated) {
        c.refused("loss-scale", key, "{} is no number: write at least 1", shown(*value));
        return;
    }
    if (!value || !value->is_number() || *value > 0) return;
    if (c.release >= scaler_validated) {
        c.refused("loss-scale", key, "{} is not above 0: write at least 1", shown(*value));
    } else {
        c.danger("loss-scale", key, "{} is not above 0, {}: write at least 1", shown(*value), fails);
    }
}

void check_dynamic_scale(Case& c) {
    check_positive(c, "fp16.loss_scale_window", "which ends the run at the first clean step");
    check_positive(c, "fp16.min_loss_scale", "which lets the scale fall to nothing");
    const double power = c.number("fp16.initial_scale_power"), smallest = c.number("fp16.min_loss_scale");
    if (c.number("fp16.hysteresis") < 1) {
        c.danger("hysteresis", "fp16.hysteresis",
                 "{:g} is below 1, so the scale never falls and every step is skipped after an overflow: write 1 or 2",
                 c.number("fp16.hysteresis"));
    }
    if (std::exp2(power) < smallest) {
        c.danger("min-loss-scale", "fp16.min_loss_scale",
                 "the scale starts at 2^{:g}, below this minimum, and the first overflow would raise it: write 1",
                 power);
    }
    if (power > 24) {
        c.danger("initial-scale", "fp16.initial_scale_power",
                 "a scale that starts at 2^{:g} overflows in many first steps, all of which are skipped: write 16",
                 power);
    }
    c.note("scale-at-minimum", "fp16",
           "with a dynamic scale, an overflow at min_loss_scale {:g} ends the run (\"Current loss scale already at "
           "minimum\"): where the GPUs have it, bf16 needs no loss scale",
           smallest);
    if (c.stage() > 0) {
        c.note("growth-step", "fp16",
               "in every release the step that doubles the loss scale divides its gradients by the doubled one, so "
               "they are half as large in one step of {:g}; Plimsoll's engine does so only with "
               "numerics.loss_scale_growth_fault",
               c.number("fp16.loss_scale_window") + 1);
    }
}

void check_half_at_stage_0(Case& c) {
    if (c.stage() != 0) return;
    if (c.dynamic_scale()) {
        c.danger("half-at-stage-0", "zero_optimization.stage",
                 "fp16 at stage 0 does not train correctly: the loss is not scaled but its gradients are divided by "
                 "the scale (DeepSpeed pull request 8393); write stage 1, which is the same mathematics");
    } else if (c.bf16() && c.release < plain_bf16 && c.launch.pp == 1 &&
               dtype_word(c.text("data_types.grad_accum_dtype")) != "fp32") {
        c.refused("half-at-stage-0", "zero_optimization.stage",
                  "before 0.17.6 bf16 at stage 0 needs gradients in fp32: write stage 1, or "
                  "\"data_types\": {{\"grad_accum_dtype\": \"fp32\"}}");
    } else if (c.bf16()) {
        c.danger("half-at-stage-0", "zero_optimization.stage",
                 "bf16 at stage 0 trains less exactly than at stage 1 (DeepSpeed pull request 7839): write stage 1, "
                 "which is the same mathematics");
    }
}

void check_master_weights(Case& c) {
    const bool fp16 = c.fp16() && c.flag("fp16.fp16_master_weights_and_grads");
    const bool bf16 = c.bf16() && c.flag("bf16.bf16_master_weights_and_grads");
    const bool on_cpu = c.offload("offload_optimizer") != "none";
    const bool sharded = c.stage() >= 1;
    constexpr std::string_view cure = "turn optimizer offload and ZeRO on, or take it out";
    if (fp16 && c.release < DeepSpeedRelease{18, 3} && c.stage() != 2) {
        c.refused("master-weights", "fp16.fp16_master_weights_and_grads",
                  "before 0.18.3 masters in fp16 are for stage 2 alone: write stage 2, or take it out");
    } else if (fp16 && !(on_cpu && sharded)) {
        c.refused("master-weights", "fp16.fp16_master_weights_and_grads",
                  "masters in fp16 need ZeRO with optimizer offload (DeepSpeedCPUAdam): {}", cure);
    }
    if (bf16 && !c.flag("bf16.bf16_optimizer_states") && !(on_cpu && sharded)) {
        c.refused("master-weights", "bf16.bf16_master_weights_and_grads",
                  "masters in bf16 need bf16_optimizer_states, or ZeRO with optimizer offload: {}", cure);
    }
    if (c.flag("bf16.bf16_optimizer_states") && !c.flag("bf16.bf16_master_weights_and_grads")) {
        c.refused("master-weights", "bf16.bf16_optimizer_states",
                  "states in bf16 need bf16_master_weights_and_grads: write it as well, or take this out");
    }
}

void check_data_types(Case& c) {
    const std::string_view model = c.dtype();
    const std::string_view gradients = dtype_word(c.text("data_types.grad_accum_dtype"));
    const bool sums_in_fp32 = model == "bf16" && gradients == "fp32";
    if (!gradients.empty() && gradients != model && c.stage() > 0 && c.release < DeepSpeedRelease{10, 1} &&
        !(sums_in_fp32 && c.stage() == 1)) {
        c.refused(
            "gradient-dtype", "data_types.grad_accum_dtype",
            "before 0.10.1 ZeRO accumulates gradients in the model's {}, and stage 1 of bf16 in fp32: write one of "
            "them",
            model);
    }
    if (!gradients.empty() && c.stage() == 0 && gradients != model && !(sums_in_fp32 && c.release < no_fp32_sums)) {
        c.refused("gradient-dtype", "data_types.grad_accum_dtype",
                  "at stage 0 gradients are accumulated in the model's {}: write that, or stage 1", model);
    }
    const std::string_view parameters = dtype_word(c.text("data_types.param_dtype"));
    if (!parameters.empty() && parameters != model && c.release >= DeepSpeedRelease{19, 8}) {
        c.refused("parameter-dtype", "data_types.param_dtype",
                  "it has to be the dtype of the precision block, {}: write that, or take it out", model);
    }
}

}  // namespace

void lint_precision(Case& c) {
    if (c.fp16() && c.bf16()) {
        c.refused("fp16-and-bf16", "fp16.enabled", "fp16 and bf16 exclude each other: turn one of them off");
    }
    if (c.fp16() && c.has("amp")) {
        c.refused("fp16-and-amp", "amp", "amp and fp16 exclude each other: take amp out");
    }
    if (c.flag("amp.enabled") && c.stage() > 0 && c.release < DeepSpeedRelease{19, 8}) {
        c.refused("amp-and-zero", "amp.enabled", "amp and ZeRO exclude each other: use fp16 or bf16, or write stage 0");
    }
    check_loss_scale(c);
    if (c.dynamic_scale()) check_dynamic_scale(c);
    check_half_at_stage_0(c);
    check_master_weights(c);
    check_data_types(c);
    if (c.flag("torch_autocast.enabled") && (c.fp16() || c.bf16())) {
        c.danger("autocast", "torch_autocast.enabled", "torch_autocast and {} both cast: turn one of them off",
                 c.dtype());
    }
}

}  // namespace plimsoll::deepspeed
