// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_transformers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plimsoll::transformers {

namespace {

double ratio(std::int64_t of, std::int64_t all) {
    return static_cast<double>(of) / static_cast<double>(std::max<std::int64_t>(all, 1));
}

double cosine(double cycles, double progress) { return 0.5 * (1 + std::cos(std::numbers::pi * cycles * 2 * progress)); }

}  // namespace

double constant_with_warmup(std::int64_t warmup, std::int64_t step) { return step < warmup ? ratio(step, warmup) : 1; }

double linear_with_warmup(std::int64_t warmup, std::int64_t total, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    return std::max(0.0, ratio(total - step, total - warmup));
}

double cosine_with_warmup(std::int64_t warmup, std::int64_t total, double cycles, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    return std::max(0.0, cosine(cycles, ratio(step - warmup, total - warmup)));
}

double cosine_with_hard_restarts(std::int64_t warmup, std::int64_t total, double cycles, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    const double progress = ratio(step - warmup, total - warmup);
    if (progress >= 1) return 0;
    return std::max(0.0, cosine(0.5, std::fmod(cycles * progress, 1.0)));
}

double polynomial_decay(std::int64_t warmup, std::int64_t total, double end_ratio, double power, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    if (step > total) return end_ratio;
    const double remaining = 1 - ratio(step - warmup, total - warmup);
    return (1 - end_ratio) * std::pow(remaining, power) + end_ratio;
}

double inverse_sqrt(std::int64_t warmup, std::int64_t timescale, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    const std::int64_t scale = timescale > 0 ? timescale : warmup > 0 ? warmup : 10'000;
    return 1 / std::sqrt(ratio(step + scale - warmup, scale));
}

double cosine_with_min_lr(std::int64_t warmup, std::int64_t total, double cycles, double min_rate, std::int64_t step) {
    if (step < warmup) return ratio(step, warmup);
    return std::max(0.0, cosine(cycles, ratio(step - warmup, total - warmup)) * (1 - min_rate) + min_rate);
}

double cosine_with_min_lr_and_warmup_rate(std::int64_t warmup, std::int64_t total, double cycles, double min_rate,
                                          double warmup_rate, std::int64_t step) {
    if (step < warmup) {
        if (warmup_rate < 0) return ratio(step + 1, warmup);
        return warmup_rate + (1 - warmup_rate) * ratio(step, warmup - 1);
    }
    return std::max(0.0, cosine(cycles, ratio(step - warmup + 1, total - warmup)) * (1 - min_rate) + min_rate);
}

double warmup_stable_decay(const WarmupStableDecay& s, std::int64_t step) {
    const auto above = [&](double share) { return std::max(0.0, share * (1 - s.min_ratio) + s.min_ratio); };
    if (step < s.warmup) {
        const double progress = ratio(step, s.warmup);
        if (s.warmup_shape == LrShape::Cosine) return above(0.5 * (1 - std::cos(std::numbers::pi * progress)));
        if (s.warmup_shape == LrShape::OneMinusSqrt) return above(1 - std::sqrt(1 - progress));
        return above(progress);
    }
    if (step < s.warmup + s.stable) return 1;
    if (step >= s.warmup + s.stable + s.decay) return s.min_ratio;
    const double progress = ratio(step - s.warmup - s.stable, s.decay);
    if (s.decay_shape == LrShape::Cosine) return above(cosine(s.cycles, progress));
    if (s.decay_shape == LrShape::OneMinusSqrt) return above(1 - std::sqrt(progress));
    return above(1 - progress);
}

}  // namespace plimsoll::transformers
