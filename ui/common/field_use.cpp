// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/field_use.h"

#include <QHash>

#include "core/control/lr_schedule.h"

namespace plimsoll::ui {

namespace {

using Rule = bool (*)(const Plan& plan);

bool hasExperts(const Plan& plan) { return plan.model.moe() || plan.model.family == Family::Mixtral; }
bool hasPipeline(const Plan& plan) { return plan.layout.pp > 1; }
bool keepsMoments(const Plan& plan) { return plan.optimizer.kind != OptimizerKind::Sgd; }

bool scales(const Plan& plan) { return plan.numerics.dtype == Dtype::Fp16; }
bool scalesBy(const Plan& plan, LossScalePolicy policy) {
    return scales(plan) && plan.numerics.loss_scale == 0 && plan.numerics.loss_scale_policy == policy;
}
bool scalesAsDeepSpeed(const Plan& plan) { return scalesBy(plan, LossScalePolicy::DeepSpeed); }
bool scalesAsPyTorch(const Plan& plan) { return scalesBy(plan, LossScalePolicy::PyTorch); }
bool scalesAsGuide(const Plan& plan) { return scalesBy(plan, LossScalePolicy::Guide); }

LrFieldUse rate(const Plan& plan) { return fields_of(plan.lr.kind); }
bool isExtended(const Plan& plan) { return plan.lr.extension != LrExtension::Stretch; }
bool hasLastPart(const Plan& plan) { return rate(plan).decay || (rate(plan).tail && plan.lr.tail); }

bool hasAdapters(const Plan& plan) { return plan.adapter.rank > 0; }
bool guards(const Plan& plan) { return plan.guard.detector != GuardDetector::Off; }
bool acts(const Plan& plan) {
    const Guard& guard = plan.guard;
    return guard.clip || guard.skip || guard.cut_lr || guard.checkpoint || guard.rollback;
}

const QHash<QString, Rule>& rules() {
    static const QHash<QString, Rule> all{
        {QStringLiteral("model.experts_per_token"), hasExperts},
        {QStringLiteral("model.capacity_factor"), hasExperts},
        {QStringLiteral("model.router_aux_loss"), hasExperts},
        {QStringLiteral("model.router_z_loss"), hasExperts},
        {QStringLiteral("adapter.alpha"), hasAdapters},
        {QStringLiteral("adapter.rank_stabilized"), hasAdapters},
        {QStringLiteral("adapter.targets"), hasAdapters},
        {QStringLiteral("adapter.weights"), hasAdapters},
        {QStringLiteral("layout.schedule_file"), hasPipeline},
        {QStringLiteral("layout.split"), hasPipeline},
        {QStringLiteral("layout.recompute_every"),
         [](const Plan& plan) { return plan.layout.recompute == Recompute::Full; }},
        {QStringLiteral("layout.recompute_stages"),
         [](const Plan& plan) { return plan.layout.recompute != Recompute::None && hasPipeline(plan); }},
        {QStringLiteral("layout.nvme_path"),
         [](const Plan& plan) {
             return plan.layout.offload_optimizer == Offload::Nvme || plan.layout.offload_parameters == Offload::Nvme;
         }},
        // A value that the plan cannot have is shown, so that it can be put right.
        {QStringLiteral("numerics.weights"),
         [](const Plan& plan) { return plan.numerics.half() || plan.numerics.weights != WeightCopies::Masters; }},
        {QStringLiteral("numerics.rounding"),
         [](const Plan& plan) {
             return plan.numerics.weights == WeightCopies::Pure || plan.numerics.rounding != Rounding::Nearest;
         }},
        {QStringLiteral("optimizer.state_dtype"),
         [](const Plan& plan) {
             const OptimizerKind kind = plan.optimizer.kind;
             const bool chooses = kind != OptimizerKind::AdamW8bit && kind != OptimizerKind::Adafactor;
             return chooses || plan.optimizer.state_dtype != Dtype::Fp32;
         }},
        {QStringLiteral("optimizer.beta1"),
         [](const Plan& plan) { return keepsMoments(plan) && plan.optimizer.kind != OptimizerKind::Adafactor; }},
        {QStringLiteral("optimizer.beta2"), keepsMoments},
        {QStringLiteral("optimizer.eps"), keepsMoments},
        {QStringLiteral("optimizer.momentum"),
         [](const Plan& plan) { return plan.optimizer.kind == OptimizerKind::Sgd; }},
        {QStringLiteral("numerics.loss_scale"), scales},
        {QStringLiteral("numerics.loss_scale_policy"),
         [](const Plan& plan) { return scales(plan) && plan.numerics.loss_scale == 0; }},
        {QStringLiteral("numerics.initial_scale_power"),
         [](const Plan& plan) { return scales(plan) && plan.numerics.loss_scale == 0; }},
        {QStringLiteral("numerics.loss_scale_window"),
         [](const Plan& plan) { return scalesAsDeepSpeed(plan) || scalesAsPyTorch(plan); }},
        {QStringLiteral("numerics.hysteresis"), scalesAsDeepSpeed},
        {QStringLiteral("numerics.consecutive_hysteresis"), scalesAsDeepSpeed},
        {QStringLiteral("numerics.min_loss_scale"),
         [](const Plan& plan) { return scalesAsDeepSpeed(plan) || scalesAsGuide(plan); }},
        {QStringLiteral("numerics.loss_scale_growth_fault"), scalesAsDeepSpeed},
        {QStringLiteral("numerics.loss_scale_growth"), scalesAsPyTorch},
        {QStringLiteral("numerics.loss_scale_backoff"), scalesAsPyTorch},
        {QStringLiteral("numerics.loss_scale_check_every"), scalesAsGuide},
        {QStringLiteral("lr.warmup_steps"),
         [](const Plan& plan) { return rate(plan).warmup && plan.lr.warmup_fraction == 0; }},
        {QStringLiteral("lr.warmup_fraction"), [](const Plan& plan) { return rate(plan).warmup; }},
        {QStringLiteral("lr.warmup_shape"),
         [](const Plan& plan) { return rate(plan).warmup && rate(plan).warmup_curve; }},
        {QStringLiteral("lr.warmup_start_ratio"), [](const Plan& plan) { return rate(plan).warmup_curve; }},
        {QStringLiteral("lr.min_ratio"), [](const Plan& plan) { return rate(plan).floor; }},
        {QStringLiteral("lr.tail"), [](const Plan& plan) { return rate(plan).tail; }},
        {QStringLiteral("lr.decay_steps"), hasLastPart},
        {QStringLiteral("lr.decay_fraction"),
         [](const Plan& plan) { return hasLastPart(plan) && plan.lr.decay_steps == 0; }},
        {QStringLiteral("lr.decay_shape"),
         [](const Plan& plan) { return rate(plan).decay_shape || (rate(plan).tail && plan.lr.tail); }},
        {QStringLiteral("lr.cycle_steps"), [](const Plan& plan) { return rate(plan).cycle_steps; }},
        {QStringLiteral("lr.cycle_factor"), [](const Plan& plan) { return rate(plan).cycle_growth; }},
        {QStringLiteral("lr.cycle_decay"), [](const Plan& plan) { return rate(plan).cycle_growth; }},
        {QStringLiteral("lr.cycles"), [](const Plan& plan) { return rate(plan).cycles; }},
        {QStringLiteral("lr.power"), [](const Plan& plan) { return rate(plan).power; }},
        {QStringLiteral("lr.decay_rate"), [](const Plan& plan) { return rate(plan).decay_rate; }},
        {QStringLiteral("lr.batch_reference"), [](const Plan& plan) { return plan.lr.batch_rule != BatchRule::None; }},
        // Set by a run that got more steps.
        {QStringLiteral("lr.extension"), isExtended},
        {QStringLiteral("lr.extended_from"), isExtended},
        {QStringLiteral("lr.extended_ratio"), isExtended},
        {QStringLiteral("guard.every"), guards},
        {QStringLiteral("guard.window"), guards},
        {QStringLiteral("guard.warmup"), guards},
        {QStringLiteral("guard.threshold"), guards},
        {QStringLiteral("guard.loss_spikes"), guards},
        {QStringLiteral("guard.cut_factor"), [](const Plan& plan) { return plan.guard.cut_lr; }},
        {QStringLiteral("guard.calm"), acts},
        {QStringLiteral("guard.max_rollbacks"), [](const Plan& plan) { return plan.guard.rollback; }},
        {QStringLiteral("optimizer.always_adapt"),
         [](const Plan& plan) { return plan.optimizer.kind == OptimizerKind::Lamb; }},
    };
    return all;
}

/// Whether the plan sets the field, for fields that check_plan refuses where they have no use.
bool isSet(const QString& key, const Plan& plan) {
    const Layout& layout = plan.layout;
    if (key == QLatin1String("layout.schedule_file")) return !layout.schedule_file.empty();
    if (key == QLatin1String("layout.recompute_every")) return layout.recompute_every != 1;
    if (key == QLatin1String("layout.recompute_stages")) return layout.recompute_stages != 0;
    if (key == QLatin1String("adapter.weights")) return !plan.adapter.weights.empty();
    if (key == QLatin1String("numerics.loss_scale")) return plan.numerics.loss_scale != 0;
    if (key == QLatin1String("numerics.loss_scale_growth_fault")) return plan.numerics.loss_scale_growth_fault;
    if (key == QLatin1String("model.capacity_factor")) return plan.model.capacity_factor != 0;
    if (key == QLatin1String("model.router_z_loss")) return plan.model.router_z_loss != 0;
    return false;
}

}  // namespace

bool isUsed(const QString& key, const Plan& plan) {
    const auto rule = rules().constFind(key);
    return rule == rules().constEnd() || (*rule)(plan) || isSet(key, plan);
}

}  // namespace plimsoll::ui
