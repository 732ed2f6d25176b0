// SPDX-License-Identifier: Apache-2.0
// Dynamic loss scaling for fp16, by DeepSpeed's exact rules (runtime/fp16/loss_scaler.py, 0.17.1 and later).
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// The traces of the real class are in tests/control.
class LossScaler {
public:
    struct State {
        double scale = 1;
        std::int64_t iteration = 0;
        std::int64_t last_overflow = -1;
        std::int64_t hysteresis = 1;
    };

    /// dtype fp32 and bf16: scale 1 for ever. fp16: static (loss_scale > 0) or dynamic.
    explicit LossScaler(const Numerics& numerics, bool consecutive_hysteresis = false);

    double scale() const { return state_.scale; }
    /// Call once an optimizer step. Error when the scale already is at its minimum and overflows again.
    Result<void> update(bool overflow);

    const State& state() const { return state_; }
    void restore(const State& state) { state_ = state; }

private:
    State state_;
    bool dynamic_ = false;
    bool consecutive_hysteresis_ = false;
    std::int64_t window_ = 1000;
    std::int64_t full_hysteresis_ = 2;
    double min_scale_ = 1;
};

}  // namespace plimsoll
