// SPDX-License-Identifier: GPL-3.0-or-later
// Ways to a model other than typing it: a config.json, and a plan to start from.
#pragma once

#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

/// Takes the model of a Hugging Face config.json, as one step. Returns sentences on keys that the plan does not follow.
Result<QStringList> importModel(PlanModel& model, const QString& path);
/// Sets hardware, layout and recipe that suit the plan's model, as one step.
void startFittingPlan(PlanModel& model);
/// A plan that trains a LoRA adapter beside the weights of a Hugging Face folder (config.json and safetensors), on the
/// cluster and the text of the present plan. The error says what the folder lacks.
Result<Plan> fineTuningPlan(const QString& folder, const Plan& present);
/// "preset llama-7b", "preset llama-7b, changed", "your own".
QString modelOrigin(const Model& model);

}  // namespace plimsoll::ui
