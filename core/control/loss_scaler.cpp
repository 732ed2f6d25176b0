// SPDX-License-Identifier: Apache-2.0
#include "core/control/loss_scaler.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

namespace {

constexpr std::int64_t guide_overflows = 2, guide_clean_steps = 10;

}  // namespace

LossScaler::LossScaler(const Numerics& numerics) : settings_(numerics) {
    if (numerics.dtype != Dtype::Fp16) return;
    settings_.loss_scale_window = std::max<std::int64_t>(numerics.loss_scale_window, 1);
    settings_.loss_scale_check_every = std::max<std::int64_t>(numerics.loss_scale_check_every, 1);
    dynamic_ = !(numerics.loss_scale > 0);
    state_.scale = dynamic_ ? std::exp2(static_cast<double>(numerics.initial_scale_power)) : numerics.loss_scale;
    state_.hysteresis = numerics.hysteresis;
}

Result<void> LossScaler::update(bool overflow) {
    if (!dynamic_) return {};
    switch (settings_.loss_scale_policy) {
        case LossScalePolicy::PyTorch:
            update_pytorch(overflow);
            return {};
        case LossScalePolicy::Guide:
            return update_guide(overflow);
        case LossScalePolicy::DeepSpeed:
            break;
    }
    return update_deepspeed(overflow);
}

Result<void> LossScaler::halve() {
    if (state_.scale == settings_.min_loss_scale) {
        return failed(
            "the gradients overflow although the fp16 loss scale is at its minimum of {}: use bf16 "
            "(numerics.dtype), lower optimizer.lr, or lower numerics.min_loss_scale",
            settings_.min_loss_scale);
    }
    state_.scale = std::max(state_.scale / 2, settings_.min_loss_scale);
    return {};
}

Result<void> LossScaler::update_deepspeed(bool overflow) {
    if (overflow) {
        // A hysteresis below 1 never reaches 1, so the scale never falls: DeepSpeed's rule, kept.
        if (settings_.hysteresis == 1 || state_.hysteresis == 1) {
            if (auto halved = halve(); !halved) return halved;
        } else {
            --state_.hysteresis;
        }
        state_.last_overflow = state_.iteration;
    } else {
        if (settings_.consecutive_hysteresis) state_.hysteresis = settings_.hysteresis;
        const std::int64_t clean_before = state_.iteration - state_.last_overflow - 1;
        if (clean_before > 0 && clean_before % settings_.loss_scale_window == 0) {
            state_.hysteresis = settings_.hysteresis;
            state_.scale *= 2;
        }
    }
    ++state_.iteration;
    return {};
}

void LossScaler::update_pytorch(bool overflow) {
    ++state_.iteration;
    // Products are of fp32 numbers, rounded to fp32: _amp_update_scale_ works so.
    const auto times = [&](double factor) {
        return static_cast<double>(static_cast<float>(state_.scale * static_cast<double>(static_cast<float>(factor))));
    };
    if (overflow) {
        state_.scale = times(settings_.loss_scale_backoff);
        state_.clean_steps = 0;
    } else if (++state_.clean_steps == settings_.loss_scale_window) {
        const double grown = times(settings_.loss_scale_growth);
        if (std::isfinite(grown)) state_.scale = grown;
        state_.clean_steps = 0;
    }
}

Result<void> LossScaler::update_guide(bool overflow) {
    const State before = state_;
    state_.clean_steps = overflow ? 0 : state_.clean_steps + 1;
    state_.overflows = overflow ? state_.overflows + 1 : 0;
    if (state_.overflows >= guide_overflows) state_.halve_at_next_look = true;
    if (++state_.iteration % settings_.loss_scale_check_every != 0) return {};
    if (state_.halve_at_next_look) {
        if (auto halved = halve(); !halved) {
            state_ = before;
            return halved;
        }
    } else if (state_.clean_steps >= guide_clean_steps) {
        state_.scale *= 2;
    }
    state_.halve_at_next_look = false;
    return {};
}

double LossScaler::divisor(double scale_of_step) const {
    const bool fault =
        dynamic_ && settings_.loss_scale_growth_fault && settings_.loss_scale_policy == LossScalePolicy::DeepSpeed;
    return fault ? state_.scale : scale_of_step;
}

std::int64_t most_overflows_in_a_row(const Numerics& numerics) {
    constexpr std::int64_t halvings = 50;
    if (numerics.loss_scale > 0) return 10;
    switch (numerics.loss_scale_policy) {
        case LossScalePolicy::PyTorch:
            return 2 * halvings;
        case LossScalePolicy::Guide:
            return halvings * std::max<std::int64_t>(numerics.loss_scale_check_every, 2);
        case LossScalePolicy::DeepSpeed:
            break;
    }
    // A large hysteresis puts off the first halving alone.
    return std::max<std::int64_t>(2 * halvings, numerics.hysteresis + halvings);
}

}  // namespace plimsoll
