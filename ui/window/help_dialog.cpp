// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/help_dialog.h"

#include <QAction>
#include <QDialogButtonBox>
#include <QPushButton>
#include <QTextBrowser>
#include <QVBoxLayout>

namespace plimsoll::ui {

HelpDialog::HelpDialog(const QList<QAction*>& actions, QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Help"));
    setAccessibleName(tr("Help"));
    resize(620, 560);
    QString text = tr(
        "<p>Choose a model and the hardware, set layout and recipe: the <b>waterline</b> at the bottom shows at "
        "once what each rank holds against the red line of the GPU's usable memory. Hover a part of it, or "
        "walk it with the arrow keys, for its formula and source.</p>"
        "<p><b>Train</b> starts the plan as separate processes; closing the window leaves them running. "
        "<b>Watch</b> shows a run live, <b>Runs</b> lists all of them, <b>Logs</b> shows what they wrote; <b>Export</b> writes "
        "the same plan for other tools.</p>"
        "<p>In a number field, the up and down keys change the value by one. Every edit can be undone. Plot keys: "
        "Ctrl and the wheel, or + and −, zoom, drag or arrows pan, double click or Home follows the run, L switches log scale.</p>");
    text += tr(
        "<p><b>Pipeline</b> lays out the schedule of the plan, or of one that you try there without changing the "
        "plan, and says where time is lost. Hover an operation to see what it waited for; Ctrl and the wheel, or + and −, zoom, "
        "drag or arrows pan, Shift and arrows walk the operations, double click or Home shows all.</p>");
    text += tr("<p>A chart's menu (right click, or the menu key) copies or saves its data and its picture.</p>");
    text += QStringLiteral("<table cellspacing='0' cellpadding='3' style='margin-top:8px'>");
    for (const QAction* action : actions) {
        if (action->shortcut().isEmpty()) continue;
        text += QStringLiteral("<tr><td><b>%1</b></td><td style='padding-left:18px'>%2</td></tr>")
                    .arg(action->shortcut().toString(QKeySequence::NativeText).toHtmlEscaped(),
                         action->property("name").toString().toHtmlEscaped());
    }
    text += QStringLiteral("</table>");
    auto* browser = new QTextBrowser(this);
    browser->setAccessibleName(tr("Help text"));
    browser->setHtml(text);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
    buttons->button(QDialogButtonBox::Close)->setAccessibleName(tr("Close the help"));
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    buttons->button(QDialogButtonBox::Close)->setFocus();
    auto* column = new QVBoxLayout(this);
    column->addWidget(browser, 1);
    column->addWidget(buttons);
}

}  // namespace plimsoll::ui
