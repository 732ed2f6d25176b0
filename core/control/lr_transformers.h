// SPDX-License-Identifier: Apache-2.0
// The schedules of transformers' optimization.py (5.24.0), named as its functions are without get_ and schedule_. Each
// gives the multiple of the optimizer's rate at which update `step` (0 is the first) runs.
#pragma once

#include <cstdint>

#include "core/plan/plan.h"

namespace plimsoll::transformers {

double constant_with_warmup(std::int64_t warmup, std::int64_t step);
double linear_with_warmup(std::int64_t warmup, std::int64_t total, std::int64_t step);
/// `cycles` 0.5 falls once.
double cosine_with_warmup(std::int64_t warmup, std::int64_t total, double cycles, std::int64_t step);
double cosine_with_hard_restarts(std::int64_t warmup, std::int64_t total, double cycles, std::int64_t step);
/// `end_ratio` is lr_end as a share of the optimizer's rate.
double polynomial_decay(std::int64_t warmup, std::int64_t total, double end_ratio, double power, std::int64_t step);
/// `timescale` 0: the warmup, or 10,000 without one.
double inverse_sqrt(std::int64_t warmup, std::int64_t timescale, std::int64_t step);
double cosine_with_min_lr(std::int64_t warmup, std::int64_t total, double cycles, double min_rate, std::int64_t step);
/// `warmup_rate` is the share at which the first update runs; below 0: None.
double cosine_with_min_lr_and_warmup_rate(std::int64_t warmup, std::int64_t total, double cycles, double min_rate,
                                          double warmup_rate, std::int64_t step);

struct WarmupStableDecay {
    std::int64_t warmup = 0, stable = 0, decay = 0;
    LrShape warmup_shape = LrShape::Linear, decay_shape = LrShape::Cosine;
    double min_ratio = 0;
    double cycles = 0.5;
};
double warmup_stable_decay(const WarmupStableDecay& schedule, std::int64_t step);

}  // namespace plimsoll::transformers
