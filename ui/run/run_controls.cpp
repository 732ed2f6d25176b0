// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run/run_controls.h"

#include <QHBoxLayout>
#include <QMenu>

#include "ui/common/escaped_text.h"
#include "ui/run/run_model.h"
#include "ui/run/run_starter.h"

namespace plimsoll::ui {

bool isUnderWay(const RunModel& run) {
    if (!run.isOpen() || run.isVanished()) return false;
    if (run.isLive()) return true;
    // Until its state has been read, a run that was just opened is taken for an old one.
    if (run.state().started <= 0) return false;
    const RunStatus status = run.state().status;
    return status == RunStatus::Starting || status == RunStatus::Running || status == RunStatus::Stopping;
}

RunControls::RunControls(RunModel* run, RunStarter* starter, QWidget* parent)
    : QWidget(parent),
      run_(run),
      starter_(starter),
      train_(new QPushButton(this)),
      stop_(new QToolButton(this)),
      more_(new QToolButton(this)) {
    train_->setProperty("primary", true);
    stop_->setProperty("danger", true);
    more_->setProperty("danger", true);
    more_->setText(QStringLiteral("▾"));
    more_->setAccessibleName(tr("Other ways to stop"));
    more_->setToolTip(tr("Other ways to stop"));
    more_->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(more_);
    QAction* after = menu->addAction(tr("Stop after this step (save checkpoint)"));
    stop_now_ = menu->addAction(tr("Stop now, without waiting for the step"));
    stop_now_->setToolTip(tr("The work of the step under way is lost; a checkpoint that is being saved is finished"));
    menu->setToolTipsVisible(true);
    more_->setMenu(menu);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(4);
    row->addWidget(train_);
    row->addWidget(stop_);
    row->addWidget(more_);

    connect(train_, &QPushButton::clicked, this, &RunControls::trainRequested);
    connect(stop_, &QToolButton::clicked, this, &RunControls::stopRequested);
    connect(after, &QAction::triggered, this, &RunControls::stopRequested);
    connect(stop_now_, &QAction::triggered, this, &RunControls::stopNowRequested);
    connect(run_, &RunModel::statusChanged, this, &RunControls::refresh);
    connect(run_, &RunModel::opened, this, &RunControls::refresh);
    connect(starter_, &RunStarter::startingChanged, this, &RunControls::refresh);
    refresh();
}

void RunControls::refresh() {
    const bool underWay = isUnderWay(*run_);
    const bool stopping = underWay && run_->state().status == RunStatus::Stopping;
    train_->setVisible(!underWay);
    train_->setEnabled(!starter_->isStarting());
    train_->setText(starter_->isStarting() ? tr("Starting…") : tr("Train"));
    train_->setAccessibleName(train_->text());
    train_->setToolTip(tr("Start a run of this plan (Ctrl+Return)"));
    stop_->setVisible(underWay);
    more_->setVisible(underWay);
    stop_->setEnabled(!stopping);
    stop_->setText(stopping ? tr("Stopping…") : tr("Stop (save checkpoint)"));
    stop_->setAccessibleName(stop_->text());
    stop_->setToolTip(plainTip(
        stopping
            ? tr("%1 finishes its step and saves a checkpoint").arg(run_->runName())
            : tr("Ends %1 after its current step, with a checkpoint, however long both take").arg(run_->runName())));
}

}  // namespace plimsoll::ui
