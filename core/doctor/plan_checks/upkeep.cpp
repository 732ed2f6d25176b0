// SPDX-License-Identifier: Apache-2.0
// What keeps a long run safe: the guard and checkpoints.
#include "core/doctor/plan_checks/plan_checks.h"

namespace plimsoll::doctor {

namespace {

/// A run of fewer steps is quickly repeated from the start.
constexpr std::int64_t worth_saving = 1000;

void check_guard(const Plan& plan, Sheet& sheet) {
    const Guard& guard = plan.guard;
    if (guard.detector == GuardDetector::Off)
        return sheet.found({"guard-off",
                            Severity::Advice,
                            "guard",
                            "The gradient guard is off.",
                            {"A step that is not finite is still left out, but spikes go into the weights unseen."},
                            {{{"guard.detector=sigma", "guard.every=1", "guard.clip=true"},
                              "what stands out by 3 deviations is told and clipped"}},
                            "gradient guard, core/control"});
    const bool acts = guard.clip || guard.skip || guard.cut_lr || guard.checkpoint || guard.rollback;
    if (!acts && plan.training.steps >= worth_saving)
        return sheet.found({"guard-does-nothing",
                            Severity::Advice,
                            "guard",
                            "The gradient guard tells spikes and does nothing about them.",
                            {fmt::format("It looks at one step in {}; no action is on.", guard.every)},
                            {{{"guard.every=1", "guard.clip=true"}, "the guard looks at each step and clips spikes"},
                             {{"guard.every=1", "guard.clip=true", "guard.rollback=true"},
                              "and where they go on the run goes back to a checkpoint without their batches"}},
                            "gradient guard, core/control"});
    sheet.fine("guard", fmt::format("{}, one step in {}{}", name_of(guard.detector), guard.every,
                                    acts ? "" : "; it tells only"));
}

void check_checkpoints(const Plan& plan, Sheet& sheet) {
    const Training& training = plan.training;
    if (training.checkpoint_every > 0 && training.checkpoint_every <= training.steps)
        return sheet.fine("checkpoints", fmt::format("each {} steps, {} are kept", training.checkpoint_every,
                                                     training.keep_checkpoints));
    if (training.steps < worth_saving && !plan.guard.rollback)
        return sheet.fine("checkpoints", fmt::format("one at the end of {} steps", training.steps));
    const std::int64_t every = std::max<std::int64_t>(training.steps / 20, 1);
    sheet.found(
        {"no-checkpoints",
         Severity::Warning,
         "checkpoints",
         "There is no checkpoint before the end.",
         {fmt::format("A crash loses up to {} steps{}.", training.steps,
                      plan.guard.rollback ? ", and the guard's rollback has only the start to go back to" : "")},
         {{{fmt::format("training.checkpoint_every={}", every)}, fmt::format("one in {} steps", every)}},
         ""});
}

}  // namespace

void check_upkeep(const Plan& plan, Sheet& sheet) {
    check_guard(plan, sheet);
    check_checkpoints(plan, sheet);
}

}  // namespace plimsoll::doctor
