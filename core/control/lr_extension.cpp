// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_extension.h"

#include <algorithm>

#include "core/control/lr_schedule.h"

namespace plimsoll {

namespace {

constexpr double bearable_rise = 1.05;

}  // namespace

LrSchedule extended(const LrSchedule& schedule, std::int64_t steps, LrExtension how) {
    LrSchedule longer = schedule;
    longer.extension = how;
    longer.extended_from = how == LrExtension::Stretch ? 0 : steps;
    longer.extended_ratio = how == LrExtension::Stretch ? 0 : learning_rate(schedule, 1, steps - 1, steps);
    return longer;
}

bool lies_in_extension(const LrSchedule& schedule, std::int64_t step, std::int64_t total_steps) {
    return schedule.extension != LrExtension::Stretch && schedule.extended_from > 0 && step >= schedule.extended_from &&
           total_steps > schedule.extended_from;
}

double extension_rate(const LrSchedule& schedule, double peak, std::int64_t step, std::int64_t total_steps) {
    const double reached = peak * schedule.extended_ratio;
    if (schedule.extension == LrExtension::Constant) return reached;
    const std::int64_t added = total_steps - schedule.extended_from, at = step - schedule.extended_from;
    LrSchedule again = schedule;
    again.extension = LrExtension::Stretch;
    again.warmup_steps = std::min(again.warmup_steps, added / 2);
    const double rate = learning_rate(again, peak, at, added);
    return at < warmup_updates(again, added) ? std::max(rate, reached) : rate;
}

std::optional<RateJump> rate_jump(const Plan& before, const Plan& after, std::int64_t done) {
    const RateJump jump{learning_rate(before, std::min(done, before.training.steps - 1)), learning_rate(after, done)};
    if (done >= after.training.steps || jump.after <= bearable_rise * jump.before) return std::nullopt;
    return jump;
}

}  // namespace plimsoll
