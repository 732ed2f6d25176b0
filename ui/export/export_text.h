// SPDX-License-Identifier: GPL-3.0-or-later
// The plan for another tool, as the Export page shows and saves it.
#pragma once

#include <QString>
#include <QStringList>

#include "ui/plan/plan_model.h"

namespace plimsoll::ui {

/// A tool that a plan can be exported to.
struct ExportChoice {
    QString name;   ///< name on the command line
    QString title;  ///< "Accelerate (FSDP)"
    QString fileName;
    QString what;                ///< one line
    bool startsProgram = false;  ///< a launcher, which starts one of exportPrograms()
};
/// All targets in the order of the list; DeepSpeed first.
const QList<ExportChoice>& exportChoices();

/// Names of the exported tools that a launcher can start; without one it starts train.py.
QStringList exportPrograms();

struct ExportText {
    bool good = false;
    QString text;   ///< empty while the plan cannot be exported
    QString notes;  ///< rich text, a paragraph for each note; or the reason why there is no export
    QString fact;
};
/// `program`: of a launcher, one of exportPrograms() or empty.
ExportText exportText(const PlanModel& model, const ExportChoice& choice, const QString& program = {});

/// Writes the same bytes as `plimsoll export`; atomic.
Result<void> saveExport(const PlanModel& model, const ExportChoice& choice, const QString& path,
                        const QString& program = {});

}  // namespace plimsoll::ui
