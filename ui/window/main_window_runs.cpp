// SPDX-License-Identifier: GPL-3.0-or-later
// From the window to a run: train, resume, more steps, and what the window says about it.
#include "ui/common/plan_field.h"
#include "ui/common/value_format.h"
#include "ui/run/checkpoint_card.h"
#include "ui/run/more_steps_dialog.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"
#include "ui/run/runs_page.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/remedies_panel.h"
#include "ui/widgets/banner.h"
#include "ui/window/main_window.h"
#include "ui/window/misfit_dialog.h"

namespace plimsoll::ui {

void MainWindow::connectRuns() {
    connect(watch_page_, &WatchPage::trainRequested, this, &MainWindow::train);
    connect(watch_page_, &WatchPage::resumeRequested, this, &MainWindow::resume);
    connect(watch_page_, &WatchPage::moreStepsRequested, this, &MainWindow::askForMoreSteps);
    connect(watch_page_, &WatchPage::logRequested, this, [this] { showPage(PageId::Logs); });
    connect(runs_page_, &RunsPage::watchRequested, this, &MainWindow::follow);
    connect(runs_page_, &RunsPage::resumeRequested, this, &MainWindow::resume);
    connect(runs_page_, &RunsPage::moreStepsRequested, this, &MainWindow::askForMoreSteps);
    connect(runs_page_, &RunsPage::forkRequested, this, [this](const Plan& plan) {
        leavePlan([this, plan] {
            plan_.openNew(plan, tr("New run from a checkpoint"));
            showPage(PageId::Recipe);
            banner_->say(
                "good", tr("%1: edit the plan, then Train starts the new run.").arg(QString::fromStdString(plan.name)));
        });
    });
    connect(runs_page_, &RunsPage::deleted, this, [this](const QString& sentence) {
        banner_->say("", sentence, tr("Undo"), [this] { runs_page_->undoDelete(); });
    });
}

void MainWindow::train() {
    if (isUnderWay(*run_)) {
        banner_->say(
            "warn",
            tr("%1 is still running; stop it or let it finish before you start another run.").arg(run_->runName()),
            tr("Show it"), [this] { showPage(PageId::Watch); }, Banner::Cause::Run);
        return;
    }
    const std::optional<MemoryEstimate>& memory = plan_.numbers().memory;
    if (plan_.isGood() && memory && !memory->fits() && !obstacleOf(plan_))
        askBeforeMisfit(partOf(memory->fullest().total(), memory->usable));
    else
        startNow();
}

void MainWindow::startNow() {
    banner_->hide();
    starter_.start(plan_);
}

void MainWindow::askBeforeMisfit(const QString& need) {
    if (const auto* asked = findChild<MisfitDialog*>(); asked && asked->isVisible()) return;
    auto* dialog = new MisfitDialog(need, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &MisfitDialog::trainChosen, this, &MainWindow::startNow);
    connect(dialog, &MisfitDialog::remediesChosen, this, [this] { remedies_->show(); });
    dialog->open();
}

void MainWindow::refuse(const Obstacle& obstacle) {
    refused_ = obstacle.sentence;
    if (obstacle.cure) {
        banner_->say(
            "bad", obstacle.sentence, obstacle.cureName,
            [this, plan = *obstacle.cure, name = obstacle.cureName] { plan_.replace(plan, name); },
            Banner::Cause::Plan);
    } else if (!obstacle.key.isEmpty()) {
        const PlanField* field = findPlanField(obstacle.key);
        banner_->say(
            "bad", obstacle.sentence, tr("Show %1").arg(field ? field->label : obstacle.key),
            [this, key = obstacle.key] { focusField(key); }, Banner::Cause::Plan);
    } else {
        banner_->say("bad", obstacle.sentence, {}, {}, Banner::Cause::Plan);
    }
}

void MainWindow::withdrawRefusal() {
    // After a change of the refused plan the old sentence would only mislead.
    if (!refused_.isEmpty() && banner_->sentence() == refused_) {
        const std::optional<Obstacle> obstacle = obstacleOf(plan_);
        if (obstacle && obstacle->sentence == refused_) return;
        banner_->hide();
    }
    refused_.clear();
}

void MainWindow::follow(const QString& runPath) {
    banner_->withdraw(Banner::Cause::Run);
    run_->open(runPath);
    showPage(PageId::Watch);
}

void MainWindow::watchEnd() {
    const bool underWay = isUnderWay(*run_);
    if (was_under_way_ && !underWay) banner_->withdraw(Banner::Cause::Run);
    if (was_under_way_ && !underWay && page() != PageId::Watch && run_->isOpen()) {
        const RunState& state = run_->state();
        const bool failed = state.status == RunStatus::Failed;
        const QString words = failed ? tr("%1 failed: %2").arg(run_->runName(), reasonWords(state))
                                     : tr("%1 has finished.").arg(run_->runName());
        banner_->say(
            failed ? "bad" : "good", words, tr("Show it"), [this] { showPage(PageId::Watch); }, Banner::Cause::Run);
    }
    was_under_way_ = underWay;
}

void MainWindow::resume(const QString& runPath) {
    if (isUnderWay(*run_) || runPath.isEmpty()) return;
    banner_->hide();
    starter_.resume(runPath);
}

void MainWindow::askForMoreSteps(const QString& runPath) {
    if (isUnderWay(*run_)) return;
    if (const auto* asked = findChild<MoreStepsDialog*>(); asked && asked->isVisible()) return;
    const RunSummary* run = watch_page_->runs()->run(runPath);
    const RunSummary summary = run ? *run : summarize(RunFolder(runPath.toStdString()));
    if (!summary.plan) return;
    auto* dialog = new MoreStepsDialog(QString::fromStdString(summary.title()), *summary.plan, summary.step, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &MoreStepsDialog::chosen, this, [this, runPath](std::int64_t steps, LrExtension how) {
        banner_->hide();
        starter_.resume(runPath, steps, how);
    });
    dialog->open();
}

}  // namespace plimsoll::ui
