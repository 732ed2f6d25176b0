// SPDX-License-Identifier: GPL-3.0-or-later
// The DeepSpeed config as the Export page shows and saves it.
#pragma once

#include <QString>

#include "ui/models/plan_model.h"

namespace plimsoll::ui {

struct ExportText {
    bool good = false;
    QString json;   ///< empty while the plan cannot be exported
    QString notes;  ///< rich text, a paragraph a note; or why there is no export
    QString fact;
};
ExportText exportText(const PlanModel& model);

/// The same bytes as `plimsoll export deepspeed` writes; atomic.
Result<void> saveDeepSpeed(const PlanModel& model, const QString& path);

}  // namespace plimsoll::ui
