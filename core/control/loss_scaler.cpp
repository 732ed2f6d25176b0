// SPDX-License-Identifier: Apache-2.0
#include "core/control/loss_scaler.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

LossScaler::LossScaler(const Numerics& numerics, bool consecutive_hysteresis)
    : consecutive_hysteresis_(consecutive_hysteresis),
      window_(std::max<std::int64_t>(numerics.loss_scale_window, 1)),
      full_hysteresis_(numerics.hysteresis),
      min_scale_(numerics.min_loss_scale) {
    if (numerics.dtype != Dtype::Fp16) return;
    dynamic_ = !(numerics.loss_scale > 0);
    state_.scale = dynamic_ ? std::exp2(static_cast<double>(numerics.initial_scale_power)) : numerics.loss_scale;
    state_.hysteresis = full_hysteresis_;
}

Result<void> LossScaler::update(bool overflow) {
    if (!dynamic_) return {};
    if (overflow) {
        // A hysteresis below 1 never reaches 1, so the scale never falls: DeepSpeed's rule, kept.
        if (full_hysteresis_ == 1 || state_.hysteresis == 1) {
            if (state_.scale == min_scale_) {
                return failed(
                    "the gradients overflow although the fp16 loss scale is at its minimum of {}: use bf16 "
                    "(numerics.dtype), lower optimizer.lr, or lower numerics.min_loss_scale",
                    min_scale_);
            }
            state_.scale = std::max(state_.scale / 2, min_scale_);
        } else {
            --state_.hysteresis;
        }
        state_.last_overflow = state_.iteration;
    } else {
        if (consecutive_hysteresis_) state_.hysteresis = full_hysteresis_;
        const std::int64_t clean_before = state_.iteration - state_.last_overflow - 1;
        if (clean_before > 0 && clean_before % window_ == 0) {
            state_.hysteresis = full_hysteresis_;
            state_.scale *= 2;
        }
    }
    ++state_.iteration;
    return {};
}

}  // namespace plimsoll
