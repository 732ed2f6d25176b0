// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_parts.h"
#include "core/interop/export_notes/export_notes.h"

namespace plimsoll::deepspeed {

namespace {

/// DeepSpeed's minimum is an integer from 1 on; the plan's is any positive number.
std::int64_t whole_minimum(double minimum, Notes& notes) {
    const auto whole = static_cast<std::int64_t>(std::clamp(std::ceil(minimum), 1.0, 0x1p62));
    if (static_cast<double>(whole) != minimum) {
        notes.push_back(
            fmt::format("min_loss_scale is {} in DeepSpeed's file, which takes whole numbers only; the plan says {:g}.",
                        whole, minimum));
    }
    return whole;
}

Json fp16(const Numerics& numerics, const DeepSpeedRelease& release, Notes& notes) {
    if (numerics.loss_scale == 0 && !release.scale_grows_after_window()) {
        notes.push_back(fmt::format(
            "DeepSpeed {} doubles the loss scale one clean step earlier than the plan: after {} in place of {}.",
            release.text(), numerics.loss_scale_window, numerics.loss_scale_window + 1));
    }
    if (numerics.loss_scale == 0 && numerics.loss_scale_policy != LossScalePolicy::DeepSpeed) {
        notes.push_back(fmt::format(
            "The loss scale goes by DeepSpeed's rules there, not by those of numerics.loss_scale_policy {}.",
            name_of(numerics.loss_scale_policy)));
    }
    return {{"enabled", true},
            {"loss_scale", numerics.loss_scale},
            {"initial_scale_power", numerics.initial_scale_power},
            {"loss_scale_window", numerics.loss_scale_window},
            {"hysteresis", numerics.hysteresis},
            {"consecutive_hysteresis", numerics.consecutive_hysteresis},
            {"min_loss_scale", whole_minimum(numerics.min_loss_scale, notes)}};
}

/// fp32 weights under torch.autocast, which does without the blocks of half-precision weights.
void add_autocast(Json& json, const Numerics& numerics, Notes& notes) {
    json["torch_autocast"] = {{"enabled", true}, {"dtype", numerics.dtype == Dtype::Bf16 ? "bfloat16" : "float16"}};
    if (numerics.dtype == Dtype::Fp16) {
        notes.push_back("Under torch_autocast the loss scale is torch.amp.GradScaler's, not numerics.loss_scale's.");
    }
}

}  // namespace

void add_precision(Json& json, const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const Numerics& numerics = plan.numerics;
    const bool casts = numerics.weights == WeightCopies::Autocast && numerics.half() && release.autocast();
    const bool pure = numerics.weights == WeightCopies::Pure && numerics.half() && release.bf16_without_masters();
    const std::string_view gradients = name_of(casts || numerics.fp32_gradients ? Dtype::Fp32 : numerics.dtype);
    exports::note_precision(plan, "the file",
                            {.masters = true,
                             .autocast = casts,
                             .pure = pure,
                             .instead = "fp32 masters are kept beside weights in the dtype"},
                            notes);
    if (casts) add_autocast(json, numerics, notes);

    json["fp16"] = numerics.dtype == Dtype::Fp16 && !casts ? fp16(numerics, release, notes) : Json{{"enabled", false}};
    const bool bf16 = numerics.dtype == Dtype::Bf16 && !casts;
    json["bf16"] = {{"enabled", bf16}};
    // Written because the default changed in 0.19.3: with it, a step whose gradients are not finite is skipped.
    if (bf16 && release.strict_precision_blocks()) json["bf16"]["check_grad_overflow"] = true;
    // Written because the default was false in 0.14.4, true in 0.16.9 and is false in 0.18.9.
    if (bf16) json["bf16"]["immediate_grad_update"] = false;
    if (pure) {
        json["bf16"]["bf16_master_weights_and_grads"] = true;
        json["bf16"]["bf16_optimizer_states"] = true;
    }
    json["communication_data_type"] =
        numerics.reduce_dtype == ReduceDtype::Gradient ? gradients : name_of(numerics.reduce_dtype);
    json["data_types"] = {{"grad_accum_dtype", gradients}};
}

}  // namespace plimsoll::deepspeed
