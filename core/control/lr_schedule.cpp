// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/control/batch_rules.h"
#include "core/control/lr_deepspeed.h"
#include "core/control/lr_extension.h"
#include "core/control/lr_transformers.h"

namespace plimsoll {

namespace {

double half_cosine(double progress) { return (1 + std::cos(std::numbers::pi * progress)) / 2; }

std::int64_t share_of(double fraction, std::int64_t total) {
    return std::llround(fraction * static_cast<double>(total));
}

/// 0 to 1 over the warmup.
double risen(LrShape shape, std::int64_t step, std::int64_t warmup) {
    const double progress = static_cast<double>(step + 1) / static_cast<double>(warmup);
    switch (shape) {
        case LrShape::Cosine:
            return 1 - half_cosine(progress);
        case LrShape::OneMinusSqrt:
            return 1 - std::sqrt(1 - progress);
        case LrShape::Log:
            return std::log(static_cast<double>(step) + 2) / std::log(static_cast<double>(warmup) + 1);
        case LrShape::Linear:
            break;
    }
    return progress;
}

/// 1 to 0 over the last part.
double fallen(LrShape shape, double progress) {
    switch (shape) {
        case LrShape::Cosine:
            return half_cosine(progress);
        case LrShape::OneMinusSqrt:
            return 1 - std::sqrt(progress);
        case LrShape::Log:
            return 1 - std::log2(1 + progress);
        case LrShape::Linear:
            break;
    }
    return 1 - progress;
}

double warmup_rate(const LrSchedule& s, double peak, std::int64_t step, std::int64_t warmup) {
    if (s.warmup_shape == LrShape::Linear && s.warmup_start_ratio == 0) {
        return peak * (static_cast<double>(step) + 1) / static_cast<double>(warmup);
    }
    return peak * (s.warmup_start_ratio + (1 - s.warmup_start_ratio) * risen(s.warmup_shape, step, warmup));
}

/// Where in which cycle of SGDR an update lies: cycle i has first x factor^i updates.
struct CyclePlace {
    double number, progress;
};
CyclePlace cycle_place(double first, double factor, double at) {
    if (factor == 1) {
        const double number = std::floor(at / first);
        return {number, (at - number * first) / first};
    }
    CyclePlace place{0, 0};
    double begin = 0, length = first;
    for (; at >= begin + length; length *= factor, ++place.number) begin += length;
    place.progress = (at - begin) / length;
    return place;
}

double restarts(const LrSchedule& s, double peak, std::int64_t since_peak) {
    const CyclePlace place =
        cycle_place(static_cast<double>(s.cycle_steps), s.cycle_factor, static_cast<double>(since_peak));
    const double floor = peak * s.min_ratio;
    const double top = std::max(peak * std::pow(s.cycle_decay, place.number), floor);
    return floor + (top - floor) * half_cosine(place.progress);
}

/// The curve between the peak and the floor, at progress 0 < p < 1.
double body(const LrSchedule& s, double peak, double progress, std::int64_t since_peak, std::int64_t warmup) {
    double share = 1;
    switch (s.kind) {
        case LrKind::Linear:
            share = 1 - progress;
            break;
        case LrKind::Polynomial:
            share = std::pow(1 - progress, s.power);
            break;
        case LrKind::CosineRestarts:
            if (s.cycle_steps > 0) return restarts(s, peak, since_peak);
            [[fallthrough]];
        default:
            share = half_cosine(progress);
            break;
        case LrKind::InverseSqrt: {
            const auto scale = static_cast<double>(std::max<std::int64_t>(warmup, 1));
            return peak * std::max(s.min_ratio, std::sqrt(scale / (scale + static_cast<double>(since_peak))));
        }
    }
    return peak * (s.min_ratio + (1 - s.min_ratio) * share);
}

double before_the_tail(const LrSchedule& s, double peak, std::int64_t step, std::int64_t warmup, std::int64_t end) {
    if (s.kind == LrKind::Constant || s.kind == LrKind::Wsd) return peak;
    // The peak is the last update of the warmup; without a warmup it is the first update of all.
    const std::int64_t peak_step = std::max<std::int64_t>(warmup - 1, 0);
    if (step <= peak_step) return peak;
    const std::int64_t since = step - peak_step;
    const bool falls_to_the_floor =
        s.kind != LrKind::InverseSqrt && !(s.kind == LrKind::CosineRestarts && s.cycle_steps > 0);
    if (step >= end && falls_to_the_floor) return peak * s.min_ratio;
    const double progress = static_cast<double>(since) / static_cast<double>(end - peak_step);
    return body(s, peak, progress, since, warmup);
}

double own_rate(const LrSchedule& s, double peak, std::int64_t step, std::int64_t total) {
    const std::int64_t warmup = warmup_updates(s, total);
    if (step < warmup) return warmup_rate(s, peak, step, warmup);
    const std::int64_t last = total - 1;
    const bool to_floor = s.kind == LrKind::Wsd;
    if (!to_floor && !s.tail && s.kind != LrKind::Guide) {
        if (step > last && s.kind != LrKind::Constant) {
            return s.kind == LrKind::InverseSqrt ? before_the_tail(s, peak, last, warmup, last) : peak * s.min_ratio;
        }
        return before_the_tail(s, peak, step, warmup, last);
    }
    // Zero is what the update after the last would have; the floor is the last one's.
    const std::int64_t decay = std::clamp<std::int64_t>(decay_updates(s, total), 0, total);
    const std::int64_t begin = std::max(total - decay, warmup);
    const double floor = to_floor ? peak * s.min_ratio : 0;
    if (step < begin) return before_the_tail(s, peak, step, warmup, begin);
    const double top = before_the_tail(s, peak, begin, warmup, begin);
    const std::int64_t end = to_floor ? last : total;
    if (step >= end) return decay == 0 ? top : floor;
    const double progress = static_cast<double>(step - begin) / static_cast<double>(end - begin);
    return floor + (top - floor) * fallen(s.kind == LrKind::Guide ? LrShape::Linear : s.decay_shape, progress);
}

double guide_literal(const LrSchedule& s, double peak, std::int64_t step, std::int64_t total) {
    const std::int64_t warmup = warmup_updates(s, total);
    if (step < warmup) return warmup_rate(s, peak, step, warmup);
    const std::int64_t decay_start = *jump_update(s, total);
    const auto part = [](std::int64_t of, std::int64_t all) {
        return static_cast<double>(of) / static_cast<double>(std::max<std::int64_t>(all, 1));
    };
    if (step < decay_start) return peak * half_cosine(part(step - warmup, decay_start - warmup));
    return peak * std::max(0.0, 1 - part(step - decay_start, total - decay_start));
}

double one_cycle(const LrSchedule& s, double peak, std::int64_t step, std::int64_t total) {
    const std::int64_t top = std::max<std::int64_t>(warmup_updates(s, total) - 1, 0), last = total - 1;
    const double start = s.warmup_start_ratio > 0 ? s.warmup_start_ratio : 1.0 / 25;
    const auto between = [&](double from, double to, double progress) {
        return peak * (to + (from - to) * half_cosine(progress));
    };
    if (step < top) return between(start, 1, static_cast<double>(step) / static_cast<double>(top));
    if (step == top) return peak;
    if (step >= last) return peak * s.min_ratio;
    return between(1, s.min_ratio, static_cast<double>(step - top) / static_cast<double>(last - top));
}

double range_test(const LrSchedule& s, double peak, std::int64_t step, std::int64_t total) {
    const double start = s.warmup_start_ratio > 0 ? s.warmup_start_ratio : 1e-4;
    if (step >= total - 1) return peak;
    return peak * std::pow(start, 1 - static_cast<double>(step) / static_cast<double>(total - 1));
}

double deepspeed_rate(const LrSchedule& s, double peak, std::int64_t step, std::int64_t total) {
    const deepspeed::Warmup warmup{.min_lr = peak * s.warmup_start_ratio,
                                   .max_lr = peak,
                                   .steps = warmup_updates(s, total),
                                   .logarithmic = s.warmup_shape == LrShape::Log};
    if (s.kind == LrKind::DeepSpeedWarmup) return deepspeed::warmup_lr(warmup, step);
    if (s.kind == LrKind::DeepSpeedWarmupDecay) return deepspeed::warmup_decay_lr(warmup, total, step);
    if (s.kind == LrKind::DeepSpeedWarmupCosine) {
        deepspeed::Warmup ratios = warmup;
        ratios.min_lr = s.warmup_start_ratio;
        ratios.max_lr = 1;
        return peak * deepspeed::warmup_cosine_ratio(ratios, total, s.min_ratio, step);
    }
    deepspeed::OneCycle cycle;
    cycle.min_lr = warmup.min_lr;
    cycle.max_lr = peak;
    cycle.first_step_size = std::max<std::int64_t>(warmup.steps, 1);
    cycle.second_step_size = s.cycle_steps;
    cycle.decay_step_size = s.decay_steps;
    cycle.decay_lr_rate = s.decay_rate;
    return deepspeed::one_cycle_lr(cycle, step);
}

double transformers_ratio(const LrSchedule& s, std::int64_t step, std::int64_t total) {
    using namespace transformers;
    const std::int64_t warmup = warmup_updates(s, total);
    const double cycles = s.cycles > 0 ? s.cycles : s.kind == LrKind::TransformersCosineRestarts ? 1 : 0.5;
    switch (s.kind) {
        case LrKind::TransformersLinear:
            return linear_with_warmup(warmup, total, step);
        case LrKind::TransformersCosine:
            return cosine_with_warmup(warmup, total, cycles, step);
        case LrKind::TransformersCosineRestarts:
            return cosine_with_hard_restarts(warmup, total, cycles, step);
        case LrKind::TransformersPolynomial:
            return polynomial_decay(warmup, total, s.min_ratio, s.power, step);
        case LrKind::TransformersInverseSqrt:
            return inverse_sqrt(warmup, 0, step);
        case LrKind::TransformersCosineMinLr:
            return cosine_with_min_lr(warmup, total, cycles, s.min_ratio, step);
        case LrKind::TransformersCosineWarmupMinLr:
            return cosine_with_min_lr_and_warmup_rate(warmup, total, cycles, s.min_ratio,
                                                      s.warmup_start_ratio > 0 ? s.warmup_start_ratio : -1, step);
        case LrKind::TransformersWsd: {
            const std::int64_t decay = std::min(decay_updates(s, total), std::max<std::int64_t>(total - warmup, 0));
            return warmup_stable_decay({.warmup = warmup,
                                        .stable = std::max<std::int64_t>(total - warmup - decay, 0),
                                        .decay = decay,
                                        .warmup_shape = s.warmup_shape,
                                        .decay_shape = s.decay_shape,
                                        .min_ratio = s.min_ratio,
                                        .cycles = cycles},
                                       step);
        }
        default:
            return constant_with_warmup(warmup, step);
    }
}

}  // namespace

std::int64_t warmup_updates(const LrSchedule& schedule, std::int64_t total_steps) {
    return schedule.warmup_fraction > 0 ? share_of(schedule.warmup_fraction, total_steps) : schedule.warmup_steps;
}

std::int64_t decay_updates(const LrSchedule& schedule, std::int64_t total_steps) {
    return schedule.decay_steps > 0 ? schedule.decay_steps : share_of(schedule.decay_fraction, total_steps);
}

std::optional<std::int64_t> jump_update(const LrSchedule& schedule, std::int64_t total_steps) {
    if (schedule.kind != LrKind::GuideLiteral) return std::nullopt;
    return std::clamp<std::int64_t>(total_steps - decay_updates(schedule, total_steps),
                                    std::min(warmup_updates(schedule, total_steps), total_steps), total_steps);
}

double learning_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps) {
    step = std::max<std::int64_t>(step, 0);
    if (lies_in_extension(schedule, step, total_steps)) return extension_rate(schedule, peak, step, total_steps);
    if (schedule.extension != LrExtension::Stretch && schedule.extended_from > 0) {
        total_steps = std::min(total_steps, schedule.extended_from);
    }
    switch (schedule.kind) {
        case LrKind::GuideLiteral:
            return guide_literal(schedule, peak, step, total_steps);
        case LrKind::OneCycle:
            return one_cycle(schedule, peak, step, total_steps);
        case LrKind::RangeTest:
            return range_test(schedule, peak, step, total_steps);
        case LrKind::DeepSpeedWarmup:
        case LrKind::DeepSpeedWarmupDecay:
        case LrKind::DeepSpeedWarmupCosine:
        case LrKind::DeepSpeedOneCycle:
            return deepspeed_rate(schedule, peak, step, total_steps);
        case LrKind::Constant:
        case LrKind::Linear:
        case LrKind::Cosine:
        case LrKind::CosineRestarts:
        case LrKind::Wsd:
        case LrKind::Polynomial:
        case LrKind::InverseSqrt:
        case LrKind::Guide:
            return own_rate(schedule, peak, step, total_steps);
        default:
            return peak * transformers_ratio(schedule, step, total_steps);
    }
}

double learning_rate(const Plan& plan, std::int64_t step) {
    return learning_rate(plan.lr, peak_learning_rate(plan), step, plan.training.steps);
}

LrFieldUse fields_of(LrKind kind) {
    LrFieldUse use;
    switch (kind) {
        case LrKind::Constant:
            use.floor = false;
            break;
        case LrKind::Linear:
        case LrKind::Cosine:
        case LrKind::InverseSqrt:
            break;
        case LrKind::CosineRestarts:
            use.cycle_steps = use.cycle_growth = true;
            break;
        case LrKind::Polynomial:
            use.power = true;
            break;
        case LrKind::Wsd:
            use.tail = false;
            use.decay = use.decay_shape = true;
            break;
        case LrKind::Guide:
            use.tail = false;
            use.decay = true;
            break;
        case LrKind::GuideLiteral:
            use.floor = use.tail = false;
            use.decay = true;
            break;
        case LrKind::OneCycle:
            use.tail = false;
            break;
        case LrKind::RangeTest:
            use.warmup = use.floor = use.tail = false;
            break;
        case LrKind::DeepSpeedWarmup:
        case LrKind::DeepSpeedWarmupDecay:
            use.floor = use.tail = false;
            break;
        case LrKind::DeepSpeedWarmupCosine:
            use.tail = false;
            break;
        case LrKind::DeepSpeedOneCycle:
            use.floor = use.tail = false;
            use.decay = use.cycle_steps = use.decay_rate = true;
            break;
        case LrKind::TransformersConstant:
        case LrKind::TransformersLinear:
        case LrKind::TransformersInverseSqrt:
            use.floor = use.tail = use.warmup_curve = false;
            break;
        case LrKind::TransformersCosine:
        case LrKind::TransformersCosineRestarts:
            use.floor = use.tail = use.warmup_curve = false;
            use.cycles = true;
            break;
        case LrKind::TransformersPolynomial:
            use.tail = use.warmup_curve = false;
            use.power = true;
            break;
        case LrKind::TransformersCosineMinLr:
            use.tail = use.warmup_curve = false;
            use.cycles = true;
            break;
        case LrKind::TransformersCosineWarmupMinLr:
            use.tail = false;
            use.cycles = true;
            break;
        case LrKind::TransformersWsd:
            use.tail = false;
            use.decay = use.decay_shape = use.cycles = true;
            break;
    }
    return use;
}

}  // namespace plimsoll
