// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plan/model_import.h"

#include <algorithm>

#include "core/estimate/training_plan.h"
#include "core/plan/adapter.h"
#include "core/plan/hugging_face/hf_config.h"
#include "core/plan/hugging_face/kept_keys.h"
#include "core/plan/hugging_face/same_model.h"
#include "core/plan/presets.h"
#include "core/plan/starting_plan.h"

namespace plimsoll::ui {

namespace {

constexpr std::int64_t fineTuningTokens = 1024;  ///< of a sequence
constexpr std::int64_t fineTuningBatch = 16;     ///< sequences a step

}  // namespace

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

Result<Plan> fineTuningPlan(const QString& folder, const Plan& present) {
    const std::filesystem::path path = folder.toStdString();
    PLIMSOLL_TRY(const auto imported, import_hf_config(path / "config.json"));
    Plan plan = training_plan(imported.model, present.cluster);
    plan.name = "LoRA of " + path.filename().string();
    plan.model.weights = path.string();
    plan.data.path = present.data.path;
    plan.data.sequence_length = std::min<std::int64_t>(plan.data.sequence_length, fineTuningTokens);
    plan.layout.micro_batch = 1;
    plan.layout.accumulation = std::max<std::int64_t>(1, fineTuningBatch / plan.layout.dp);
    plan.adapter.rank = 16;
    plan.layout.zero_stage = std::min<std::int64_t>(plan.layout.zero_stage, most_zero_stage(plan));
    // Hu 2021 and the PEFT examples: a few hundred steps at a rate ten times that of full training.
    plan.optimizer.lr = 2e-4;
    plan.lr.warmup_steps = 20;
    plan.training.steps = 300;
    plan.training.validate_every = 50;
    plan.training.sample_every = 50;
    plan.training.checkpoint_every = 100;
    keep_config_keys(plan, imported.config);
    return plan;
}

QString modelOrigin(const Model& model) {
    if (model.preset.empty()) return PlanModel::tr("your own");
    const QString name = QString::fromStdString(model.preset);
    const Result<Model> preset = model_preset(model.preset);
    if (preset && *preset == model) return PlanModel::tr("preset %1").arg(name);
    return PlanModel::tr("preset %1, changed").arg(name);
}

}  // namespace plimsoll::ui
