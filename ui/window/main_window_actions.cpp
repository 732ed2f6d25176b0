// SPDX-License-Identifier: GPL-3.0-or-later
// The window's actions: shortcuts, the menu, and what the search finds.
#include <algorithm>
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QMessageBox>
#include <QSettings>

#include "core/plan/gpu.h"
#include "core/plan/presets.h"
#include "ui/common/plan_field.h"
#include "ui/export/export_page.h"
#include "ui/pipeline/pipeline_page.h"
#include "ui/plan/model_import.h"
#include "ui/plan/model_page.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/remedies_panel.h"
#include "ui/widgets/search_field.h"
#include "ui/window/close_dialog.h"
#include "ui/window/help_dialog.h"
#include "ui/window/main_window.h"
#include "ui/window/top_bar.h"

namespace plimsoll::ui {

QAction* MainWindow::addAction(const QString& text, const QKeySequence& shortcut, const std::function<void()>& run) {
    auto* action = new QAction(text, this);
    action->setProperty("name", text);  // "Undo", whatever it would undo
    action->setShortcut(shortcut);
    connect(action, &QAction::triggered, this, [run] { run(); });
    // The window owns the shortcut, so that it works on every page.
    QMainWindow::addAction(action);
    actions_.append(action);
    return action;
}

void MainWindow::makeActions() {
    menu_->setAccessibleName(tr("Menu"));
    menu_->addAction(addAction(tr("New plan"), QKeySequence::New, [this] { openPlan(QStringLiteral("cpu-demo")); }));
    menu_->addAction(addAction(tr("Open a plan…"), QKeySequence::Open, [this] { askForPlan(); }));
    recent_ = menu_->addMenu(tr("Recent plans"));
    connect(menu_, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
    QMenu* examples = menu_->addMenu(tr("Example plans"));
    for (const std::string& name : plan_preset_names()) {
        const QString preset = QString::fromStdString(name);
        examples->addAction(preset, this, [this, preset] { openPlan(preset); });
    }
    menu_->addAction(addAction(tr("Save the plan"), QKeySequence::Save, [this] { savePlan(plan_.path()); }));
    menu_->addAction(
        addAction(tr("Save the plan as…"), QKeySequence(QStringLiteral("Ctrl+Shift+S")), [this] { savePlan({}); }));
    menu_->addSeparator();
    menu_->addAction(addAction(tr("Import a Hugging Face config.json…"), {}, [this] {
        showPage(PageId::Model);
        model_page_->askForConfig();
    }));
    menu_->addAction(addAction(tr("Suggest a complete plan"), {}, [this] { startFittingPlan(plan_); }));
    menu_->addSeparator();
    auto* themes = new QActionGroup(this);
    const auto addTheme = [&](const QString& text, ThemeChoice choice) {
        QAction* action = addAction(text, {}, [this, choice] { useTheme(choice); });
        action->setCheckable(true);
        action->setData(static_cast<int>(choice));
        themes->addAction(action);
        menu_->addAction(action);
    };
    addTheme(tr("Light theme"), ThemeChoice::Light);
    addTheme(tr("Dark theme"), ThemeChoice::Dark);
    addTheme(tr("System theme"), ThemeChoice::System);
    connect(menu_, &QMenu::aboutToShow, this, [themes] {
        const int chosen = QSettings().value(QStringLiteral("theme"), 0).toInt();
        for (QAction* action : themes->actions()) action->setChecked(action->data().toInt() == chosen);
    });
    menu_->addSeparator();
    ask_close_ = addAction(tr("Ask before closing during a run"), {}, [] {});
    ask_close_->setCheckable(true);
    ask_close_->setChecked(CloseDialog::wanted());
    connect(ask_close_, &QAction::toggled, this, &CloseDialog::setWanted);
    connect(menu_, &QMenu::aboutToShow, this, [this] { ask_close_->setChecked(CloseDialog::wanted()); });
    menu_->addAction(ask_close_);
    menu_->addSeparator();
    menu_->addAction(addAction(tr("Help"), QKeySequence::HelpContents, [this] { showHelp(); }));
    menu_->addAction(addAction(tr("About Plimsoll"), {}, [this] { showAbout(); }));
    menu_->addAction(addAction(tr("Quit"), QKeySequence::Quit, [this] { close(); }));

    QUndoStack* stack = plan_.undoStack();
    undo_ = addAction(tr("Undo"), QKeySequence::Undo, [stack] { stack->undo(); });
    redo_ = addAction(tr("Redo"), QKeySequence(QStringLiteral("Ctrl+Shift+Z")), [stack] { stack->redo(); });
    const auto follow = [this, stack] {
        undo_->setEnabled(stack->canUndo());
        redo_->setEnabled(stack->canRedo());
        undo_->setText(stack->canUndo() ? tr("Undo: %1").arg(stack->undoText()) : tr("Undo"));
        redo_->setText(stack->canRedo() ? tr("Redo: %1").arg(stack->redoText()) : tr("Redo"));
    };
    connect(stack, &QUndoStack::indexChanged, this, follow);
    connect(&plan_, &PlanModel::changed, this, follow);
    follow();

    export_ =
        addAction(tr("Export the plan"), QKeySequence(QStringLiteral("Ctrl+E")), [this] { showPage(PageId::Export); });
    addAction(tr("How to reduce memory"), QKeySequence(QStringLiteral("Ctrl+Shift+F")),
              [this] { remedies_->setVisible(!remedies_->isVisible()); });
    addAction(tr("Train"), QKeySequence(QStringLiteral("Ctrl+Return")), [this] { train(); });
    addAction(tr("Resume the run"), {}, [this] { resume(run_->runPath()); });
    addAction(tr("Continue the run with more steps…"), {}, [this] { askForMoreSteps(run_->runPath()); });
    addAction(tr("Stop the run after this step"), {}, [this] { emit controls_->stopRequested(); });
    addAction(tr("Stop the run now"), {}, [this] { emit controls_->stopNowRequested(); });
    addAction(tr("Find an action or a setting"), QKeySequence(QStringLiteral("Ctrl+K")),
              [this] { top_->search()->begin(); });
    for (int i = 0; i < pageCount; ++i) {
        const auto page = static_cast<PageId>(i);
        const QString name = page == PageId::Planner ? tr("Find the best layout (%1)") : tr("Go to %1");
        addAction(name.arg(pageName(page)), QKeySequence(pageShortcut(page)), [this, page] { showPage(page); });
    }
}

void MainWindow::fillRecent() {
    recent_->clear();
    const QStringList paths = files_.recent();
    for (const QString& path : paths) {
        QAction* action = recent_->addAction(path);
        connect(action, &QAction::triggered, this, [this, path] { openPlan(path); });
    }
    recent_->setEnabled(!paths.isEmpty());
}

QList<Command> MainWindow::commands() {
    QList<Command> all;
    for (QAction* action : std::as_const(actions_)) {
        if (!action->isEnabled()) continue;
        all.append({action->text(), QString(), action->shortcut().toString(QKeySequence::NativeText), QString(),
                    [action] { action->trigger(); }});
    }
    for (const PlanField& field : planFields())
        all.append({field.label, tr("%1 · %2").arg(field.section, field.help), shownText(field, plan_.text(field.key)),
                    field.key + QLatin1Char(' ') + QString(field.key).replace(QLatin1Char('_'), QLatin1Char(' ')),
                    [this, key = field.key] { focusField(key); }});
    for (std::size_t i = 0; i < schedule_names.size(); ++i) {
        const auto schedule = static_cast<Schedule>(i);
        all.append({tr("Try schedule %1").arg(QString::fromLatin1(schedule_title(schedule))),
                    tr("Pipeline · Lays it out beside the plan's"), QString(),
                    tr("pipeline what if %1").arg(QString::fromLatin1(schedule_names[i].data())), [this, schedule] {
                        showPage(PageId::Pipeline);
                        WhatIf tried = pipeline_page_->model()->tried();
                        tried.schedule = schedule;
                        pipeline_page_->model()->tryOut(tried);
                    }});
    }
    for (const std::string& name : model_preset_names()) {
        const QString preset = QString::fromStdString(name);
        all.append({tr("Model %1").arg(preset), tr("Choose this model"), QString(), QString(),
                    [this, preset] { plan_.usePreset(preset); }});
    }
    for (const Gpu& gpu : gpu_catalogue()) {
        const QString name = QString::fromStdString(gpu.name);
        all.append({tr("GPU %1").arg(name), tr("Plan for this GPU"), QString(), QString(), [this, name] {
                        plan_.endEdit();
                        plan_.setText(QStringLiteral("cluster.gpu"), name);
                    }});
    }
    for (const std::string& name : plan_preset_names()) {
        const QString preset = QString::fromStdString(name);
        all.append({tr("Plan %1").arg(preset), tr("Open this example plan"), QString(), QString(),
                    [this, preset] { openPlan(preset); }});
    }
    const RunListModel& runs = *watch_page_->runs();
    for (int row = 0; row < std::min(runs.rowCount(), 20); ++row) {
        const QModelIndex index = runs.index(row);
        all.append({tr("Watch run %1").arg(index.data().toString()), index.data(RunListModel::StatusRole).toString(),
                    QString(), QString(),
                    [this, path = index.data(RunListModel::PathRole).toString()] { follow(path); }});
    }
    for (const QString& path : files_.recent())
        all.append({tr("Open %1").arg(path.section(QLatin1Char('/'), -1)), path, QString(), QString(),
                    [this, path] { openPlan(path); }});
    return all;
}

void MainWindow::useTheme(ThemeChoice choice) {
    QSettings().setValue(QStringLiteral("theme"), static_cast<int>(choice));
    applyTheme(*qApp, choice);
}

void MainWindow::showAbout() {
    QMessageBox::about(
        this, tr("About Plimsoll"),
        tr("<b>Plimsoll %1</b><p>A training studio for large models: plan, train and watch.</p>"
           "<p>The window is free software under the GNU General Public License, version 3 or later; the "
           "rest is under the Apache License 2.0.</p>")
            .arg(QApplication::applicationVersion()));
}

void MainWindow::showHelp() {
    auto* help = new HelpDialog(actions_, this);
    help->setAttribute(Qt::WA_DeleteOnClose);
    help->show();
}

}  // namespace plimsoll::ui
