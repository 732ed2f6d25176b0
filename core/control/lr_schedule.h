// SPDX-License-Identifier: Apache-2.0
// Learning rate by optimizer step.
#pragma once

#include <cstdint>
#include <optional>

#include "core/plan/plan.h"

namespace plimsoll {

/// Rate used by optimizer update `step` (0 is the first of `total_steps`).
///
/// Warmup: from warmup_start_ratio x peak up to the peak at its last update, so that the first update already learns
/// (linear from 0: peak x (step + 1) / warmup). Then, where progress p runs from 0 at the peak to 1 at the end:
///   constant                  peak
///   linear, polynomial        floor + (peak - floor) x (1 - p)^power
///   cosine                    floor + (peak - floor) x (1 + cos(pi p)) / 2
///   cosine-restarts           the same over cycles of T_0, T_0 x T_mult, … updates (SGDR, 1608.03983), each peak times
///                             cycle_decay
///   inverse-sqrt              peak x sqrt(w / (w + updates since the peak)), w the warmup; not below the floor
///   one-cycle                 cosine up from warmup_start_ratio (0: 1/25) over the warmup, cosine down to the floor
///                             (torch's OneCycleLR)
///   wsd                       peak, then decay_shape down to the floor over the last part
///   guide                     cosine to the floor, then linear to zero over the last part
///   guide-literal             peak x (1 + cos(pi (t - warmup) / (decay_start - warmup))) / 2, then
///                             peak x (1 - (t - decay_start) / (total - decay_start)): jumps back at decay_start
///   range-test                peak x r^(1 - p), exponentially up from r = warmup_start_ratio (0: 1e-4), no warmup
/// The end is the last update. With `tail` (and under guide) p reaches 1 where the last part begins, and the rest falls
/// from there to zero, which the update after the last would have. floor = min_ratio x peak. What comes after the last
/// update has the floor.
///
/// deepspeed/… and transformers/… are those libraries' own rates, update by update (lr_deepspeed.h,
/// lr_transformers.h), with peak for their highest rate and min_ratio for their floor.
/// Where steps were added to the run (lr.extension constant or rewarm), the schedule spans the extended_from steps that
/// it had before, and lr_extension.h says how it goes on.
double learning_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps);

/// The plan's learning rate, from its peak_learning_rate() and its number of steps.
double learning_rate(const Plan& plan, std::int64_t step);

/// Updates of the warmup: warmup_steps, or warmup_fraction of the run.
std::int64_t warmup_updates(const LrSchedule& schedule, std::int64_t total_steps);
/// Updates of the last part: decay_steps, or decay_fraction of the run.
std::int64_t decay_updates(const LrSchedule& schedule, std::int64_t total_steps);
/// The update at which guide-literal jumps from nearly 0 back to the peak; nothing for the other kinds.
std::optional<std::int64_t> jump_update(const LrSchedule& schedule, std::int64_t total_steps);

/// The fields of the schedule that a kind uses.
struct LrFieldUse {
    bool warmup = true, warmup_curve = true, floor = true, tail = true, decay = false, decay_shape = false,
         cycle_steps = false, cycle_growth = false, cycles = false, power = false, decay_rate = false;
};
LrFieldUse fields_of(LrKind kind);

}  // namespace plimsoll
