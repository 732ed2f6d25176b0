// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/lessons/lesson_html.h"

#include "ui/common/escaped_text.h"

namespace plimsoll::ui {

namespace {

QString heading(const QString& text) {
    return QStringLiteral("<p style='margin:14px 0 4px 0'><b>%1</b></p>").arg(text.toHtmlEscaped());
}

QString steps(const Lesson& lesson) {
    QString text = heading(LessonsModel::tr("Worked out")) + QStringLiteral("<table cellspacing='0' cellpadding='3'>");
    for (const LessonStep& step : lesson.steps)
        text += QStringLiteral(
                    "<tr><td align='right' style='white-space:nowrap'><b>%1</b></td><td>&nbsp;&nbsp;%2</td></tr>")
                    .arg(escapedText(step.result()), escapedText(step.words));
    return text + QStringLiteral("</table>");
}

QString tableHtml(const LessonTable& table, const LessonColours& colours) {
    QString text = heading(QString::fromStdString(table.title)) +
                   QStringLiteral("<table cellspacing='0' cellpadding='4' width='98%'><tr>");
    for (const std::string& header : table.headers)
        text += QStringLiteral("<td style='color:%1; border-bottom:1px solid %2'>%3</td>")
                    .arg(colours.muted, colours.line, escapedText(header));
    text += QStringLiteral("</tr>");
    for (const auto& row : table.rows) {
        text += QStringLiteral("<tr>");
        for (const std::string& cell : row)
            text +=
                QStringLiteral("<td style='border-bottom:1px solid %1'>%2</td>").arg(colours.line, escapedText(cell));
        text += QStringLiteral("</tr>");
    }
    return text + QStringLiteral("</table>");
}

QString sentences(const QString& title, const std::vector<std::string>& all, const QString& mark,
                  const QString& colour) {
    QString text = heading(title);
    for (const std::string& sentence : all)
        text += QStringLiteral("<p style='margin:0 0 5px 0'><span style='color:%1'><b>%2</b></span>&nbsp; %3</p>")
                    .arg(colour, mark, escapedText(sentence));
    return text;
}

}  // namespace

QList<TextRow> lessonRows(const std::vector<Lesson>& lessons) {
    QList<TextRow> rows;
    for (const Lesson& lesson : lessons) {
        TextRow row;
        row.cells = {QString::fromStdString(lesson.title)};
        row.tip = escapedText(lesson.question);
        row.name = QString::fromStdString(lesson.name);
        rows.append(row);
    }
    return rows;
}

QString lessonHtml(const Lesson& lesson, const LessonColours& colours) {
    QString text = QStringLiteral("<p style='margin:0'>%1</p>").arg(escapedText(lesson.question));
    text += sentences(LessonsModel::tr("What is right"), lesson.right, QStringLiteral("✓"), colours.good);
    text += sentences(LessonsModel::tr("What is wrong, or left out"), lesson.wrong, QStringLiteral("✗"), colours.bad);
    text += steps(lesson);
    for (const LessonTable& table : lesson.tables) text += tableHtml(table, colours);
    return text;
}

}  // namespace plimsoll::ui
