// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/deepspeed_import_parts.h"
#include "core/interop/deepspeed/lint/deepspeed_case.h"

namespace plimsoll::deepspeed {

namespace {

/// The dtype that the file turns on. "auto" is the training arguments' choice, and so is a file of theirs that has no
/// block (Accelerate, DeepSpeedPlugin.set_mixed_precision).
Dtype dtype_of(Import& file) {
    const bool fp16 = file.flag_at("fp16.enabled").value_or(false);
    const bool bf16 = file.flag_at("bf16.enabled").value_or(false);
    if (fp16 && bf16) stop("{}: fp16 and bf16 exclude each other: turn one of them off", file.what);
    if (fp16 || bf16) return fp16 ? Dtype::Fp16 : Dtype::Bf16;
    const Dtype plans = file.plan.numerics.dtype;
    const auto ruled_out = [&](Dtype dtype, const char* path) { return plans == dtype && file.at(path); };
    bool by_arguments = file.hugging_face && file.absent("fp16.enabled") && file.absent("bf16.enabled");
    for (const char* path : {"fp16.enabled", "bf16.enabled"}) {
        if (!file.is_auto(path)) continue;
        file.autos.emplace_back(path);
        by_arguments = true;
    }
    if (!by_arguments) {
        if (!file.at("fp16.enabled") && !file.at("bf16.enabled"))
            file.left_out("fp16 and bf16", "fp32", plans != Dtype::Fp32);
        return Dtype::Fp32;
    }
    if (ruled_out(Dtype::Fp16, "fp16.enabled") || ruled_out(Dtype::Bf16, "bf16.enabled")) {
        file.notes.push_back(fmt::format("numerics.dtype is fp32: the file turns the plan's {} off.", name_of(plans)));
        return Dtype::Fp32;
    }
    return plans;
}

void read_gradients(Import& file) {
    constexpr const char* path = "data_types.grad_accum_dtype";
    Numerics& numerics = file.plan.numerics;
    if (file.is_auto(path)) {
        file.autos.emplace_back(path);
        return;
    }
    const auto given = file.text_at(path);
    const bool fp32 = numerics.dtype != Dtype::Fp32 && given && dtype_word(*given) == "fp32";
    if (!given) file.left_out(path, name_of(numerics.dtype), numerics.fp32_gradients && numerics.dtype != Dtype::Fp32);
    numerics.fp32_gradients = fp32;
}

/// engine.py, communication_data_type: the model's dtype where nothing is said.
void read_reduction(Import& file) {
    constexpr const char* path = "communication_data_type";
    Numerics& numerics = file.plan.numerics;
    if (file.is_auto(path)) {
        file.autos.emplace_back(path);
        return;
    }
    const std::string word = small_letters(file.text_at(path).value_or(std::string(name_of(numerics.dtype))));
    const std::string_view own = numerics.fp32_gradients ? "fp32" : name_of(numerics.dtype);
    ReduceDtype reduced = ReduceDtype::Gradient;
    for (std::size_t i = 1; i < reduce_dtype_names.size(); ++i) {
        if (word == reduce_dtype_names[i] && word != own) reduced = static_cast<ReduceDtype>(i);
    }
    if (!file.at(path)) file.left_out(path, word, numerics.reduce_dtype != reduced);
    numerics.reduce_dtype = reduced;
}

void read_loss_scale(Import& file) {
    Numerics& numerics = file.plan.numerics;
    if (numerics.dtype != Dtype::Fp16) return;
    numerics.loss_scale_policy = LossScalePolicy::DeepSpeed;
    file.number("fp16.loss_scale", numerics.loss_scale, 0);
    file.integer("fp16.initial_scale_power", numerics.initial_scale_power, 16);
    file.integer("fp16.loss_scale_window", numerics.loss_scale_window, 1000);
    file.integer("fp16.hysteresis", numerics.hysteresis, 2);
    file.flag("fp16.consecutive_hysteresis", numerics.consecutive_hysteresis, false);
    file.number("fp16.min_loss_scale", numerics.min_loss_scale, 1);
}

/// Which copies of the weights the file's blocks mean. A file that says nothing of them keeps masters; "auto" keeps the
/// plan's.
void read_weight_copies(Import& file) {
    Numerics& numerics = file.plan.numerics;
    constexpr const char *masters = "bf16.bf16_master_weights_and_grads", *casts = "torch_autocast.enabled";
    if (file.hugging_face && file.absent(masters) && file.absent(casts)) return;
    const WeightCopies before = numerics.weights;
    numerics.weights = WeightCopies::Masters;
    file.plan.optimizer.state_dtype = Dtype::Fp32;
    // Offloaded masters in bf16 are masters still; the file's keys are kept.
    const std::string offload =
        small_letters(file.text_at("zero_optimization.offload_optimizer.device").value_or("none"));
    if (numerics.dtype == Dtype::Bf16 && file.flag_at(masters).value_or(false) && offload == "none") {
        numerics.weights = WeightCopies::Pure;
        if (file.flag_at("bf16.bf16_optimizer_states").value_or(false)) file.plan.optimizer.state_dtype = Dtype::Bf16;
    }
    if (numerics.weights != WeightCopies::Pure) numerics.rounding = Rounding::Nearest;
    if (file.flag_at(casts).value_or(false) && !numerics.half()) {
        const std::string text = file.text_at("torch_autocast.dtype").value_or("bf16");
        numerics.dtype = dtype_word(text) == "fp16" ? Dtype::Fp16 : Dtype::Bf16;
        numerics.weights = WeightCopies::Autocast;
    } else if (file.absent(masters) && file.absent(casts)) {
        file.left_out("bf16_master_weights_and_grads and torch_autocast", "fp32 masters",
                      before != WeightCopies::Masters);
    }
}

}  // namespace

void read_precision(Import& file) {
    file.plan.numerics.dtype = dtype_of(file);
    read_gradients(file);
    read_reduction(file);
    read_loss_scale(file);
    read_weight_copies(file);
}

}  // namespace plimsoll::deepspeed
