// SPDX-License-Identifier: Apache-2.0
// Loss scaling for fp16, by the exact rules of three policies.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// deepspeed: runtime/fp16/loss_scaler.py, 0.17.1 and later. A step that overflows uses up hysteresis, then halves the
/// scale; the (window + 1)-th clean step after an overflow doubles it. An overflow at the minimum is an error.
///
/// pytorch: torch.amp.GradScaler. Each overflow multiplies by backoff, `window` clean steps in a row by growth; kept in
/// fp32, with no minimum: it can reach 0.
///
/// guide: looked at every so many steps. Two overflows in a row since the last look halve, else ten clean steps in a
/// row at its end double. An overflow at the minimum is an error, as in deepspeed.
class LossScaler {
public:
    struct State {
        double scale = 1;
        std::int64_t iteration = 0;
        std::int64_t last_overflow = -1;  ///< deepspeed
        std::int64_t hysteresis = 1;      ///< deepspeed
        std::int64_t clean_steps = 0;     ///< in a row: pytorch since the last change, guide
        std::int64_t overflows = 0;       ///< in a row: guide
        bool halve_at_next_look = false;  ///< guide
        bool operator==(const State&) const = default;
    };

    /// dtype fp32 and bf16: scale 1 for ever. fp16: static (loss_scale > 0) or dynamic by its policy.
    explicit LossScaler(const Numerics& numerics);

    double scale() const { return state_.scale; }
    /// Call once an optimizer step. Error when the scale already is at its minimum and would have to fall.
    Result<void> update(bool overflow);
    /// The divisor of a clean step's gradients: the scale that its loss was multiplied by. Only with DeepSpeed's growth
    /// fault switched on is it the scale after update(false), which halves the gradients of a step that doubles the
    /// scale (stage_1_and_2.py: step() calls _update_scale before unscale_and_clip_grads).
    double divisor(double scale_of_step) const;

    const State& state() const { return state_; }
    void restore(const State& state) { state_ = state; }

private:
    Result<void> update_deepspeed(bool overflow);
    void update_pytorch(bool overflow);
    Result<void> update_guide(bool overflow);
    Result<void> halve();

    Numerics settings_;
    State state_;
    bool dynamic_ = false;
};

/// Overflows in a row after which the run cannot learn any more; a dynamic scale falls 2^16-fold before that.
std::int64_t most_overflows_in_a_row(const Numerics& numerics);

}  // namespace plimsoll
