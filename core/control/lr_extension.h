// SPDX-License-Identifier: Apache-2.0
// The learning rate of a run that gets more steps than it was planned with.
#pragma once

#include <cstdint>
#include <optional>

#include "core/plan/plan.h"

namespace plimsoll {

/// The schedule of a run of `steps` that is to go on beyond them:
///   stretch    it spans all steps, as if they had been planned from the start: in the middle of a fall the rate jumps up
///   constant   behind `steps` the rate stays what it was at the last of them
///   rewarm     behind `steps` the schedule is gone through once more over the added steps; its warmup, at most half of
///              them, rises from the rate that was reached (Ibrahim et al. 2024, 2403.08763: re-warming and re-decaying)
LrSchedule extended(const LrSchedule& schedule, std::int64_t steps, LrExtension how);

/// Whether update `step` of `total_steps` has its rate by `constant` or `rewarm`.
bool lies_in_extension(const LrSchedule& schedule, std::int64_t step, std::int64_t total_steps);
/// That rate. The rates of the updates before are those of the schedule over extended_from steps.
double extension_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps);

struct RateJump {
    double before = 0;  ///< rate that the next update would have had, or the last one had where none was planned
    double after = 0;   ///< that it has now
};
/// Nothing unless the next update, behind `done`, has a rate that is more than a twentieth higher under `after` than
/// under `before`.
std::optional<RateJump> rate_jump(const Plan& before, const Plan& after, std::int64_t done);

}  // namespace plimsoll
