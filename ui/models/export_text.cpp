// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/export_text.h"

#include "core/base/json.h"

namespace plimsoll::ui {

ExportText exportText(const PlanModel& model) {
    ExportText text;
    const std::optional<DeepSpeedExport>& now = model.numbers().deepspeed;
    text.good = model.isGood() && now.has_value();
    if (!text.good) {
        const QList<FieldProblem> problems = model.problems();
        const QString reason = problems.isEmpty() ? model.numbers().deepspeedProblem : problems.front().sentence;
        text.notes = QStringLiteral("<p>%1</p>").arg(reason.toHtmlEscaped());
        text.fact = PlanModel::tr("not now: see the note");
        return text;
    }
    text.json = QString::fromStdString(now->json.dump(2)) + QLatin1Char('\n');
    for (const std::string& note : now->notes)
        text.notes += QStringLiteral("<p>%1</p>").arg(QString::fromStdString(note).toHtmlEscaped());
    if (text.notes.isEmpty())
        text.notes = PlanModel::tr("Nothing: the file says all of the plan that DeepSpeed can take.");
    text.fact = PlanModel::tr("as the plan stands now, for DeepSpeed %1")
                    .arg(QString::fromStdString(model.plan().exports.deepspeed_release));
    return text;
}

Result<void> saveDeepSpeed(const PlanModel& model, const QString& path) {
    if (!model.isGood() || !model.numbers().deepspeed)
        return bad_input("there is nothing to export while the plan is impossible: see the sentence at the bottom");
    return write_json(path.toStdString(), model.numbers().deepspeed->json);
}

}  // namespace plimsoll::ui
