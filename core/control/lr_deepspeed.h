// SPDX-License-Identifier: Apache-2.0
// DeepSpeed's learning-rate schedules (runtime/lr_schedules.py of 0.19.8), as rates by update: DeepSpeed steps a
// scheduler after each update, so update k runs at the rate of its iteration k - 1, and the first at the lowest one.
#pragma once

#include <cstdint>

namespace plimsoll::deepspeed {

struct Warmup {
    double min_lr = 0;
    double max_lr = 1e-3;
    std::int64_t steps = 1000;  ///< warmup_num_steps; below 2 is 2
    bool logarithmic = true;    ///< warmup_type log, else linear
};

double warmup_lr(const Warmup& warmup, std::int64_t update);
/// Falls linearly back to min_lr at `total_steps`.
double warmup_decay_lr(const Warmup& warmup, std::int64_t total_steps, std::int64_t update);
/// The rate as a multiple of the optimizer's rate: `warmup.min_lr` is warmup_min_ratio, `warmup.max_lr` has to be 1.
/// The multiple stays at `cos_min_ratio` after the last step, as in DeepSpeed since 0.19.3.
double warmup_cosine_ratio(const Warmup& warmup, std::int64_t total_steps, double cos_min_ratio, std::int64_t update);

struct OneCycle {
    double min_lr = 0, max_lr = 0;
    std::int64_t first_step_size = 2000;
    std::int64_t second_step_size = 0;                 ///< 0: as long as the first
    std::int64_t decay_step_size = 0;                  ///< 0: no decay after the cycle
    std::int64_t first_stairs = 0, second_stairs = 0;  ///< stairs of each half in steps; 0: smooth
    double decay_lr_rate = 0;
    double min_momentum = 0.8, max_momentum = 0.9;
    double decay_mom_rate = 0;
};

double one_cycle_lr(const OneCycle& cycle, std::int64_t update);
/// The first beta, which falls as the rate rises (cycle_momentum).
double one_cycle_momentum(const OneCycle& cycle, std::int64_t update);

/// LRRangeTest: min_lr x (1 + rate x interval), by whole intervals with `staircase`.
double range_test_lr(double min_lr, std::int64_t step_size, double step_rate, bool staircase, std::int64_t update);

}  // namespace plimsoll::deepspeed
