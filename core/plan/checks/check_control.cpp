// SPDX-License-Identifier: Apache-2.0
// Loss scaling, the learning-rate schedule and the gradient guard.
#include <cmath>

#include "core/plan/checks/problems.h"

namespace plimsoll {

namespace {

void check_loss_scale(Problems& problems, const Numerics& numerics) {
    if (numerics.dtype != Dtype::Fp16) {
        if (numerics.loss_scale != 0 && numerics.loss_scale != 1) {
            problems.add("numerics.loss_scale",
                         "numerics.loss_scale {:g} is for fp16, but numerics.dtype is {}; set it to 0",
                         numerics.loss_scale, name_of(numerics.dtype));
        }
        return;
    }
    if (numerics.reduce_dtype == ReduceDtype::Bf16) {
        problems.add("numerics.reduce_dtype",
                     "fp16 and bf16 do not go together: gradients of numerics.dtype fp16 cannot travel in bf16; set "
                     "numerics.reduce_dtype to gradient or fp32");
    }
    if (numerics.loss_scale != 0) return;
    const bool deepspeed = numerics.loss_scale_policy == LossScalePolicy::DeepSpeed;
    if (numerics.loss_scale_growth_fault && !deepspeed) {
        problems.add(
            "numerics.loss_scale_growth_fault",
            "numerics.loss_scale_growth_fault is DeepSpeed's, and numerics.loss_scale_policy is {}; switch it off",
            name_of(numerics.loss_scale_policy));
    }
    const double first = std::ldexp(1.0, static_cast<int>(numerics.initial_scale_power));
    if (numerics.loss_scale_policy != LossScalePolicy::PyTorch && first < numerics.min_loss_scale) {
        problems.add("numerics.min_loss_scale",
                     "the loss scale starts at 2^{} = {:g}, below numerics.min_loss_scale {:g}; "
                     "lower that or raise numerics.initial_scale_power",
                     numerics.initial_scale_power, first, numerics.min_loss_scale);
    }
}

/// Kinds whose last part is of its own.
bool has_last_part(const LrSchedule& lr) {
    switch (lr.kind) {
        case LrKind::Wsd:
        case LrKind::Guide:
        case LrKind::GuideLiteral:
        case LrKind::TransformersWsd:
            return true;
        case LrKind::Constant:
        case LrKind::Linear:
        case LrKind::Cosine:
        case LrKind::CosineRestarts:
        case LrKind::Polynomial:
        case LrKind::InverseSqrt:
            return lr.tail;
        default:
            return false;
    }
}

void check_parts(Problems& problems, const Plan& plan) {
    const LrSchedule& lr = plan.lr;
    const std::int64_t steps = plan.training.steps;
    if (lr.kind == LrKind::RangeTest) return;
    if (lr.warmup_fraction == 0 && lr.warmup_steps > steps) {
        problems.add("lr.warmup_steps",
                     "lr.warmup_steps {} is longer than the run (training.steps {}); take {} or fewer", lr.warmup_steps,
                     steps, steps);
        return;
    }
    if (!has_last_part(lr)) return;
    const auto share = [&](double fraction) { return std::llround(fraction * static_cast<double>(steps)); };
    const std::int64_t warmup = lr.warmup_fraction > 0 ? share(lr.warmup_fraction) : lr.warmup_steps;
    const std::int64_t decay = lr.decay_steps > 0 ? lr.decay_steps : share(lr.decay_fraction);
    const char* key = lr.decay_steps > 0 ? "lr.decay_steps" : "lr.decay_fraction";
    if (warmup + decay > steps) {
        problems.add(key,
                     "the warmup of {} steps and the last part of {} are longer than the run (training.steps {}); "
                     "shorten {} or the warmup",
                     warmup, decay, steps, key);
    } else if (decay == 0) {
        problems.add(key, "lr.kind {}{} needs a last part, and {} gives it no step; set lr.decay_steps or raise it",
                     name_of(lr.kind), lr.tail ? " with lr.tail" : "", key);
    }
}

void check_curves(Problems& problems, const LrSchedule& lr) {
    const bool deepspeed = name_of(lr.kind).starts_with("deepspeed/");
    const auto shape = [](LrShape each) { return name_of(each); };
    if (deepspeed && lr.warmup_shape != LrShape::Linear && lr.warmup_shape != LrShape::Log) {
        problems.add("lr.warmup_shape", "{} warms up linear or log, not {}; set lr.warmup_shape to one of them",
                     name_of(lr.kind), shape(lr.warmup_shape));
    }
    if (lr.kind == LrKind::TransformersWsd && lr.warmup_shape == LrShape::Log) {
        problems.add("lr.warmup_shape", "{} has no log warmup; set lr.warmup_shape to linear, cosine or 1-sqrt",
                     name_of(lr.kind));
    }
    if (lr.kind == LrKind::TransformersWsd && lr.decay_shape == LrShape::Log) {
        problems.add("lr.decay_shape", "{} has no log decay; set lr.decay_shape to linear, cosine or 1-sqrt",
                     name_of(lr.kind));
    }
    if (lr.cycle_factor > 1 && lr.cycle_factor < 1.01) {
        problems.add("lr.cycle_factor",
                     "lr.cycle_factor {:g} hardly lengthens a cycle; take 1 for equal ones, or 1.01 or more",
                     lr.cycle_factor);
    }
}

void check_extension(Problems& problems, const LrSchedule& lr, std::int64_t steps) {
    if (lr.extension == LrExtension::Stretch || (lr.extended_from > 0 && lr.extended_from < steps)) return;
    problems.add(
        "lr.extended_from",
        "lr.extension {} needs the steps that the run had before some were added, and lr.extended_from is {} of "
        "{} (training.steps); resume with --steps and --extend, which set it, or set lr.extension to stretch",
        name_of(lr.extension), lr.extended_from, steps);
}

}  // namespace

void check_control(Problems& problems, const Plan& plan) {
    check_loss_scale(problems, plan.numerics);
    check_parts(problems, plan);
    check_curves(problems, plan.lr);
    check_extension(problems, plan.lr, plan.training.steps);
}

}  // namespace plimsoll
