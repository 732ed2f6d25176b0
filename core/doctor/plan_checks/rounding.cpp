// SPDX-License-Identifier: Apache-2.0
// What weights and states in bf16 cannot take up.
#include <algorithm>
#include <cmath>

#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

/// bf16 has 8 significant bits: a number in [2^e, 2^(e+1)) is off the next one by 2^(e-7), and a change below half of
/// that is rounded away.
constexpr int half_digit = 8;
/// Shares of lost updates from which weights stand still, and from which it is worth a word.
constexpr double standstill = 0.5, some = 0.01;
constexpr auto source = "Zamirai et al. 2020, Revisiting BFloat16 Training, section 3";

/// The share of weights of normal distribution whose nearest bf16 number stays the same under an update of this size.
double lost_share(double update, double deviation) {
    if (update <= 0) return 1;
    const double least = std::exp2(std::floor(std::log2(update) + half_digit) + 1);
    return std::erfc(least / (deviation * std::sqrt(2.0)));
}

/// Adam's update of a weight is about the learning rate. LAMB's and Adafactor's is that share of the weights' size.
double update_size(const Plan& plan, double rate) {
    const bool relative = plan.optimizer.kind == OptimizerKind::Lamb || plan.optimizer.kind == OptimizerKind::Adafactor;
    return relative ? rate * plan.model.init_std : rate;
}

void report_lost(const Plan& plan, double peak, double last, Sheet& sheet) {
    const double rate = peak_learning_rate(plan);
    sheet.found(
        {"lost-updates",
         peak >= standstill ? Severity::Warning : Severity::Advice,
         "small-updates",
         fmt::format("At the peak rate, {} of the weights lose each update to rounding; at the last step, {}.",
                     percent(peak), percent(last)),
         {fmt::format(
              "numerics.weights pure with rounding to nearest: a bf16 weight w takes up no update below half its "
              "last digit, {:.2g} to {:.2g} of |w|, and {}'s update is about {:.2g}.",
              std::exp2(-half_digit - 1), std::exp2(-half_digit), name_of(plan.optimizer.kind),
              update_size(plan, rate)),
          fmt::format("The share is of weights of normal distribution with deviation {:g} (model.init_std).",
                      plan.model.init_std)},
         {{{"numerics.rounding=stochastic"}, "right in the mean, and no byte more"},
          {{"numerics.rounding=kahan"}, "what is lost is kept and added later; 2 B a parameter more"},
          {{"numerics.weights=masters"}, "an fp32 copy of the weights; 4 B a parameter more"}},
         source});
}

void check_small_updates(const Plan& plan, Sheet& sheet) {
    const Numerics& numerics = plan.numerics;
    if (!numerics.half() || numerics.weights != WeightCopies::Pure)
        return sheet.fine("small-updates", "weights are updated in fp32");
    if (numerics.rounding != Rounding::Nearest)
        return sheet.fine("small-updates", numerics.rounding == Rounding::Kahan
                                               ? "what rounding loses is kept (Kahan sums)"
                                               : "updates are rounded at random, right in the mean");
    if (plan.optimizer.kind == OptimizerKind::Sgd)
        return sheet.unknown("small-updates", "the size of SGD's updates is that of the gradients");
    const double deviation = plan.model.init_std;
    const double final_rate = learning_rate(plan, std::max<std::int64_t>(plan.training.steps - 1, 0));
    const double peak = lost_share(update_size(plan, peak_learning_rate(plan)), deviation);
    const double last = lost_share(update_size(plan, final_rate), deviation);
    if (std::max(peak, last) >= some) return report_lost(plan, peak, last, sheet);
    sheet.fine("small-updates",
               fmt::format("{} of the updates at the peak rate are below half a last digit of bf16", percent(peak)));
}

/// v' = v + (1 - beta2) (g^2 - v): where g is 0, v falls by a share of 1 - beta2, which bf16 takes up for all v above
/// 2^-8 and for none up to 2^-9.
void check_states(const Plan& plan, Sheet& sheet) {
    const Optimizer& optimizer = plan.optimizer;
    const bool second = optimizer.kind == OptimizerKind::AdamW || optimizer.kind == OptimizerKind::Lamb;
    if (optimizer.state_dtype == Dtype::Fp32 || !second)
        return sheet.fine("state-precision", fmt::format("{}'s states take up small changes", name_of(optimizer.kind)));
    const double change = 1 - optimizer.beta2;
    if (change > std::exp2(-half_digit))
        return sheet.fine("state-precision", fmt::format("bf16 takes up a beta2 of {:g}", optimizer.beta2));
    const bool never = change <= std::exp2(-half_digit - 1);
    sheet.found({"second-moment-stalls",
                 never ? Severity::Warning : Severity::Advice,
                 "state-precision",
                 fmt::format("In bf16 {} second moments can{} fall with a beta2 of {:g}.", never ? "the" : "many",
                             never ? " never" : "not", optimizer.beta2),
                 {fmt::format("A moment falls by a share of up to 1 - beta2 = {:.2g} an update, and bf16 rounds away a "
                              "change below {:.2g} to {:.2g}: after large gradients steps stay small.",
                              change, std::exp2(-half_digit - 1), std::exp2(-half_digit))},
                 {{{"optimizer.beta2=0.95"}, "a change of 5 %, which bf16 takes up"},
                  {{"optimizer.state_dtype=fp32"}, "4 B a parameter more"}},
                 source});
}

}  // namespace

void check_rounding(const Plan& plan, Sheet& sheet) {
    check_small_updates(plan, sheet);
    check_states(plan, sheet);
}

}  // namespace plimsoll::doctor
