// SPDX-License-Identifier: GPL-3.0-or-later
// The plan for another tool, as the Export page shows and saves it.
#pragma once

#include <QString>
#include <QStringList>

#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

/// A tool that a plan can be exported to.
struct ExportChoice {
    QString name;   ///< as on the command line
    QString title;  ///< "Accelerate (FSDP)"
    QString fileName;
    QString what;  ///< one line
};
/// In the order in which they are listed; DeepSpeed first.
const QList<ExportChoice>& exportChoices();

struct ExportText {
    bool good = false;
    QString text;   ///< empty while the plan cannot be exported
    QString notes;  ///< rich text, a paragraph a note; or why there is no export
    QString fact;
};
ExportText exportText(const PlanModel& model, const ExportChoice& choice);

/// The same bytes as `plimsoll export` writes; atomic.
Result<void> saveExport(const PlanModel& model, const ExportChoice& choice, const QString& path);

}  // namespace plimsoll::ui
