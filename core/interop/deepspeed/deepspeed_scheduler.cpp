// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/control/lr_schedule.h"
#include "core/interop/deepspeed/deepspeed_parts.h"

namespace plimsoll::deepspeed {

namespace {

constexpr const char* trails =
    "DeepSpeed's schedule trails the plan's learning rate by up to three updates, and its first two run at the lowest "
    "rate of the warmup.";

/// Share of the peak at which the first update of the plan runs (learning_rate() in core/control).
double first_share(const Plan& plan) { return learning_rate(plan.lr, 1, 0, plan.training.steps); }

/// DeepSpeed refuses 0 since 0.19.3, and takes 2 for less.
std::int64_t warmup_num_steps(const Plan& plan) {
    return std::max<std::int64_t>(warmup_updates(plan.lr, plan.training.steps), 2);
}

const char* warmup_type(const LrSchedule& lr) { return lr.warmup_shape == LrShape::Log ? "log" : "linear"; }

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
              {"warmup_min_ratio", first_share(plan)},
              {"warmup_num_steps", warmup_num_steps(plan)},
              {"cos_min_ratio", plan.lr.min_ratio},
              {"warmup_type", "linear"}}}};
}

/// WarmupDecayLR starts at warmup_min_lr and falls back to it at total_num_steps, so warmup_min_lr is the plan's floor.
Json linear(const Plan& plan, Notes& notes) {
    notes.push_back(trails);
    notes.push_back(fmt::format(
        "WarmupDecayLR has one lowest rate, warmup_min_lr, for the start of the warmup and the end of the decay: the "
        "floor of the plan, {:g} of the peak{}.",
        plan.lr.min_ratio,
        warmup_updates(plan.lr, plan.training.steps) > 1 ? "" : "; so the first three updates are a warmup"));
    return {{"type", "WarmupDecayLR"},
            {"params",
             {{"total_num_steps", plan.training.steps},
              {"warmup_min_lr", peak_learning_rate(plan) * plan.lr.min_ratio},
              {"warmup_max_lr", peak_learning_rate(plan)},
              {"warmup_num_steps", warmup_num_steps(plan)},
              {"warmup_type", "linear"}}}};
}

Json constant(const Plan& plan, Notes& notes) {
    if (warmup_updates(plan.lr, plan.training.steps) > 1) notes.push_back(trails);
    return {{"type", "WarmupLR"},
            {"params",
             {{"warmup_min_lr", peak_learning_rate(plan) * first_share(plan)},
              {"warmup_max_lr", peak_learning_rate(plan)},
              {"warmup_num_steps", warmup_num_steps(plan)},
              {"warmup_type", "linear"}}}};
}

/// DeepSpeed counts a warmup of 0 or 1 as 2 and starts an update late (lr_schedules.py): the plan names such a schedule.
void note_wasted_updates(const Plan& plan, Notes& notes) {
    if (warmup_updates(plan.lr, plan.training.steps) > 1) return;
    const bool cosine = plan.lr.kind == LrKind::DeepSpeedWarmupCosine;
    notes.push_back(fmt::format(
        "{} counts a warmup of {} as 2, and its first two updates run at {}, which wastes them where that is 0: lr.kind {} "
        "has no such updates.",
        name_of(plan.lr.kind), warmup_updates(plan.lr, plan.training.steps),
        cosine ? "0 and at lr.warmup_start_ratio of the peak" : "lr.warmup_start_ratio of the peak",
        cosine                                         ? "cosine"
        : plan.lr.kind == LrKind::DeepSpeedWarmupDecay ? "linear"
                                                       : "constant"));
}

/// The plan names DeepSpeed's own schedule: every rate is the same.
Json own(const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const LrSchedule& lr = plan.lr;
    const double peak = peak_learning_rate(plan), start = peak * lr.warmup_start_ratio;
    if (lr.kind == LrKind::DeepSpeedWarmupCosine) {
        note_wasted_updates(plan, notes);
        if (!release.cosine_stays_at_floor()) {
            notes.push_back(fmt::format("Stop at step {}: after it, DeepSpeed {} raises the learning rate again.",
                                        plan.training.steps, release.text()));
        }
        return {{"type", "WarmupCosineLR"},
                {"params",
                 {{"total_num_steps", plan.training.steps},
                  {"warmup_min_ratio", lr.warmup_start_ratio},
                  {"warmup_num_steps", warmup_num_steps(plan)},
                  {"cos_min_ratio", lr.min_ratio},
                  {"warmup_type", warmup_type(lr)}}}};
    }
    if (lr.kind == LrKind::DeepSpeedOneCycle) {
        const std::int64_t up = std::max<std::int64_t>(warmup_updates(lr, plan.training.steps), 1);
        return {{"type", "OneCycle"},
                {"params",
                 {{"cycle_min_lr", start},
                  {"cycle_max_lr", peak},
                  {"cycle_first_step_size", up},
                  {"cycle_second_step_size", lr.cycle_steps > 0 ? lr.cycle_steps : up},
                  {"decay_step_size", lr.decay_steps},
                  {"decay_lr_rate", lr.decay_rate},
                  {"cycle_momentum", false}}}};
    }
    note_wasted_updates(plan, notes);
    Json json = {{"type", lr.kind == LrKind::DeepSpeedWarmup ? "WarmupLR" : "WarmupDecayLR"},
                 {"params",
                  {{"warmup_min_lr", start},
                   {"warmup_max_lr", peak},
                   {"warmup_num_steps", warmup_num_steps(plan)},
                   {"warmup_type", warmup_type(lr)}}}};
    if (lr.kind == LrKind::DeepSpeedWarmupDecay) json["params"]["total_num_steps"] = plan.training.steps;
    return json;
}

Json nearest(const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    switch (plan.lr.kind) {
        case LrKind::Constant:
        case LrKind::Wsd:
        case LrKind::InverseSqrt:
        case LrKind::RangeTest:
        case LrKind::TransformersConstant:
        case LrKind::TransformersInverseSqrt:
        case LrKind::TransformersWsd:
            return constant(plan, notes);
        case LrKind::Linear:
        case LrKind::Polynomial:
        case LrKind::TransformersLinear:
        case LrKind::TransformersPolynomial:
            return linear(plan, notes);
        default:
            return cosine(plan, release, notes);
    }
}

/// Whether the scheduler that nearest() gives has the plan's curve after the warmup.
bool is_alike(const LrSchedule& lr) {
    const bool basic = lr.kind == LrKind::Constant || lr.kind == LrKind::Linear || lr.kind == LrKind::Cosine;
    return basic && !lr.tail && lr.warmup_shape == LrShape::Linear;
}

}  // namespace

// runtime/lr_schedules.py. warmup_type and warmup_max_lr are always written: their defaults are "log" and, depending on
// class and release, 0.001 or the optimizer's rate.
Json scheduler(const Plan& plan, const DeepSpeedRelease& release, Notes& notes) {
    const Optimizer& optimizer = plan.optimizer;
    if (optimizer.embedding_lr != 1 || optimizer.head_lr != 1 || optimizer.vector_lr != 1) {
        notes.push_back(
            "The learning rate's multiples of embeddings, head, biases and norms are left out: DeepSpeed's file has one "
            "rate; pass parameter groups.");
    }
    if (plan.lr.extension != LrExtension::Stretch) {
        notes.push_back(
            "lr.extension is not in DeepSpeed's file: its schedule spans all steps. For the rates behind "
            "lr.extended_from give deepspeed.initialize a scheduler of your own.");
    }
    const std::string_view name = name_of(plan.lr.kind);
    if (name.starts_with("deepspeed/")) return own(plan, release, notes);
    Json json = nearest(plan, release, notes);
    if (!is_alike(plan.lr)) {
        notes.push_back(
            fmt::format("DeepSpeed has no schedule like lr.kind {}{}: {} is the nearest. For the plan's rates give "
                        "deepspeed.initialize a scheduler of your own.",
                        name, plan.lr.tail ? " with a tail" : "", json["type"].get<std::string>()));
    }
    return json;
}

}  // namespace plimsoll::deepspeed
