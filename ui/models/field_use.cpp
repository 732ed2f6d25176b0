// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/field_use.h"

#include <QHash>

namespace plimsoll::ui {

namespace {

using Rule = bool (*)(const Plan& plan);

bool hasExperts(const Plan& plan) { return plan.model.moe() || plan.model.family == Family::Mixtral; }
bool hasPipeline(const Plan& plan) { return plan.layout.pp > 1; }
bool keepsMoments(const Plan& plan) { return plan.optimizer.kind != OptimizerKind::Sgd; }

const QHash<QString, Rule>& rules() {
    static const QHash<QString, Rule> all{
        {QStringLiteral("model.experts_per_token"), hasExperts},
        {QStringLiteral("model.capacity_factor"), hasExperts},
        {QStringLiteral("model.router_aux_loss"), hasExperts},
        {QStringLiteral("model.router_z_loss"), hasExperts},
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
        {QStringLiteral("optimizer.beta1"),
         [](const Plan& plan) { return keepsMoments(plan) && plan.optimizer.kind != OptimizerKind::Adafactor; }},
        {QStringLiteral("optimizer.beta2"), keepsMoments},
        {QStringLiteral("optimizer.eps"), keepsMoments},
        {QStringLiteral("optimizer.momentum"),
         [](const Plan& plan) { return plan.optimizer.kind == OptimizerKind::Sgd; }},
        {QStringLiteral("optimizer.always_adapt"),
         [](const Plan& plan) { return plan.optimizer.kind == OptimizerKind::Lamb; }},
    };
    return all;
}

/// What check_plan refuses where the rule says that it has no use.
bool isSet(const QString& key, const Plan& plan) {
    const Layout& layout = plan.layout;
    if (key == QLatin1String("layout.schedule_file")) return !layout.schedule_file.empty();
    if (key == QLatin1String("layout.recompute_every")) return layout.recompute_every != 1;
    if (key == QLatin1String("layout.recompute_stages")) return layout.recompute_stages != 0;
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
