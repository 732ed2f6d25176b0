// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/export/export_text.h"

#include "core/base/file.h"
#include "core/interop/exports/export_target.h"

namespace plimsoll::ui {

namespace {

QString text(std::string_view words) { return QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size())); }

QString paragraph(const QString& sentence) { return QStringLiteral("<p>%1</p>").arg(sentence.toHtmlEscaped()); }

}  // namespace

const QList<ExportChoice>& exportChoices() {
    static const QList<ExportChoice> choices = [] {
        QList<ExportChoice> list;
        for (const ExportTarget& each : export_targets())
            list.push_back(
                {text(each.name), text(each.title), text(each.file_name), text(each.what), starts_program(each.name)});
        return list;
    }();
    return choices;
}

QStringList exportPrograms() {
    QStringList names;
    for (const std::string& each : export_programs()) names.push_back(QString::fromStdString(each));
    return names;
}

ExportText exportText(const PlanModel& model, const ExportChoice& choice, const QString& program) {
    ExportText shown;
    const QList<FieldProblem> problems = model.problems();
    if (!problems.isEmpty()) {
        shown.notes = paragraph(problems.front().sentence);
        shown.fact = PlanModel::tr("not now: see the note");
        return shown;
    }
    const Result<ExportedText> exported = export_plan(model.plan(), choice.name.toStdString(), program.toStdString());
    if (!exported) {
        shown.notes = paragraph(QString::fromStdString(exported.error().message));
        shown.fact = PlanModel::tr("not now: see the note");
        return shown;
    }
    shown.good = true;
    shown.text = QString::fromStdString(exported->text);
    for (const std::string& note : exported->notes) shown.notes += paragraph(QString::fromStdString(note));
    if (shown.notes.isEmpty()) shown.notes = PlanModel::tr("Nothing: it says all of the plan.");
    shown.fact = choice.name == QStringLiteral("deepspeed")
                     ? PlanModel::tr("as the plan stands now, for DeepSpeed %1")
                           .arg(QString::fromStdString(model.plan().exports.deepspeed_release))
                     : PlanModel::tr("as the plan stands now");
    return shown;
}

Result<void> saveExport(const PlanModel& model, const ExportChoice& choice, const QString& path,
                        const QString& program) {
    const ExportText exported = exportText(model, choice, program);
    if (!exported.good) return bad_input("there is nothing to export now: the notes on the Export page say why");
    return write_file_atomic(path.toStdString(), exported.text.toStdString());
}

}  // namespace plimsoll::ui
