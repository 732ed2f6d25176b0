// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/model_import.h"

#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/hugging_face/same_model.h"
#include "core/plan/presets.h"
#include "core/plan/starting_plan.h"

namespace plimsoll::ui {

Result<QStringList> importModel(PlanModel& model, const QString& path) {
    PLIMSOLL_TRY(const auto imported, import_hf_config(path.toStdString()));
    Plan plan = model.plan();
    plan.model = imported.model;
    keep_config_keys(plan, imported.config);
    model.replace(plan, PlanModel::tr("Import %1").arg(path.section(QLatin1Char('/'), -1)));
    QStringList notes;
    for (const std::string& each : imported.notes()) notes.append(QString::fromStdString(each));
    if (const std::string dtype = dtype_note(imported.config, plan); !dtype.empty())
        notes.append(QString::fromStdString(dtype));
    return notes;
}

void startFittingPlan(PlanModel& model) {
    Plan plan = starting_plan(model.plan().model);
    plan.exports = model.plan().exports;
    model.replace(plan, PlanModel::tr("Start a fitting plan"));
}

QString modelOrigin(const Model& model) {
    if (model.preset.empty()) return PlanModel::tr("your own");
    const QString name = QString::fromStdString(model.preset);
    const Result<Model> preset = model_preset(model.preset);
    if (preset && *preset == model) return PlanModel::tr("preset %1").arg(name);
    return PlanModel::tr("preset %1, changed").arg(name);
}

}  // namespace plimsoll::ui
