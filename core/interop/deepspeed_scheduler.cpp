// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/interop/deepspeed_parts.h"

namespace plimsoll::deepspeed {

namespace {

constexpr const char* trails =
    "DeepSpeed's schedule trails the plan's learning rate by up to three updates, and its first two run at the lowest "
    "rate of the warmup.";

/// Share of the peak at which the first update of the plan runs (learning_rate() in core/control).
double first_share(const LrSchedule& lr) { return lr.warmup_steps > 1 ? 1 / static_cast<double>(lr.warmup_steps) : 1; }

/// DeepSpeed refuses 0 and takes 2 for 1.
std::int64_t warmup_num_steps(const LrSchedule& lr) { return std::max<std::int64_t>(lr.warmup_steps, 2); }

Json cosine(const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    notes.push_back(trails);
    notes.push_back("WarmupCosineLR runs its very first update at rate 0.");
    if (!release.cosine_stays_at_floor()) {
        notes.push_back(fmt::format("Stop at step {}: after it, DeepSpeed {} raises the learning rate again.",
                                    plan.training.steps, release.text()));
    }
    return {{"type", "WarmupCosineLR"},
            {"params",
             {{"total_num_steps", plan.training.steps},
              {"warmup_min_ratio", first_share(plan.lr)},
              {"warmup_num_steps", warmup_num_steps(plan.lr)},
              {"cos_min_ratio", plan.lr.min_ratio},
              {"warmup_type", "linear"}}}};
}

/// WarmupDecayLR starts at warmup_min_lr and falls back to it at total_num_steps: it is the plan's floor.
Json linear(const Plan& plan, Notes& notes) {
    notes.push_back(trails);
    notes.push_back(fmt::format(
        "WarmupDecayLR has one lowest rate, warmup_min_lr, for the start of the warmup and the end of the decay: the "
        "floor of the plan, {:g} of the peak{}.",
        plan.lr.min_ratio, plan.lr.warmup_steps > 1 ? "" : "; so the first three updates are a warmup"));
    return {{"type", "WarmupDecayLR"},
            {"params",
             {{"total_num_steps", plan.training.steps},
              {"warmup_min_lr", plan.optimizer.lr * plan.lr.min_ratio},
              {"warmup_max_lr", plan.optimizer.lr},
              {"warmup_num_steps", warmup_num_steps(plan.lr)},
              {"warmup_type", "linear"}}}};
}

Json constant(const Plan& plan, Notes& notes) {
    if (plan.lr.warmup_steps > 1) notes.push_back(trails);
    return {{"type", "WarmupLR"},
            {"params",
             {{"warmup_min_lr", plan.optimizer.lr * first_share(plan.lr)},
              {"warmup_max_lr", plan.optimizer.lr},
              {"warmup_num_steps", warmup_num_steps(plan.lr)},
              {"warmup_type", "linear"}}}};
}

}  // namespace

// runtime/lr_schedules.py. warmup_type and warmup_max_lr are always written: their defaults are "log" and, depending on
// class and release, 0.001 or the optimizer's rate.
Json scheduler(const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    if (plan.lr.kind == LrKind::Cosine) return cosine(plan, release, notes);
    if (plan.lr.kind == LrKind::Linear) return linear(plan, notes);
    return constant(plan, notes);
}

}  // namespace plimsoll::deepspeed
