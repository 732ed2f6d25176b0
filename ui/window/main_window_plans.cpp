// SPDX-License-Identifier: GPL-3.0-or-later
// The plan's files: open, save, and what becomes of the edits of the plan before.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QMimeData>

#include "ui/plan/model_import.h"
#include "ui/run/run_model.h"
#include "ui/widgets/banner.h"
#include "ui/window/main_window.h"
#include "ui/window/unsaved_dialog.h"

namespace plimsoll::ui {

void MainWindow::begin(const QString& pathOrPreset) {
    bool fresh = false;
    if (!pathOrPreset.isEmpty()) {
        const QString kept = files_.keepDraftAside();
        openNow(pathOrPreset);
        plan_.undoStack()->clear();
        if (!kept.isEmpty())
            banner_->say("warn", tr("The unsaved plan of the last session is kept as %1.").arg(kept), tr("Open it"),
                         [this, kept] { openPlan(kept); });
    } else if (const Result<bool> restored = files_.restoreDraft(); !restored) {
        banner_->say("warn", QString::fromStdString(restored.error().message));
    } else {
        fresh = !*restored;
    }
    if (fresh) showPage(PageId::Start);
    const QString newest = RunModel::newestRun();
    if (newest.isEmpty()) return;
    run_->open(newest);
    const Result<RunFolder> folder = RunFolder::open(newest.toStdString());
    if (folder && folder->live()) showPage(PageId::Watch);
}

void MainWindow::leavePlan(const std::function<void()>& then) {
    if (!plan_.hasEdits()) {
        then();
        return;
    }
    if (const auto* asked = findChild<UnsavedDialog*>(); asked && asked->isVisible()) return;
    const QString file = plan_.path().section(QLatin1Char('/'), -1);
    auto* dialog = new UnsavedDialog(file.isEmpty() ? planSummary(plan_.plan()) : file, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &UnsavedDialog::discardChosen, this, then);
    connect(dialog, &UnsavedDialog::saveChosen, this, [this, then] {
        if (savePlan(plan_.path())) then();
    });
    dialog->open();
}

void MainWindow::openPlan(const QString& pathOrPreset) {
    leavePlan([this, pathOrPreset] { openNow(pathOrPreset); });
}

void MainWindow::openNewPlan(const Plan& plan, const QString& what) {
    leavePlan([this, plan, what] { plan_.openNew(plan, what); });
}

void MainWindow::openNow(const QString& pathOrPreset) {
    if (const Result<void> opened = files_.open(pathOrPreset); !opened) {
        banner_->say("bad", QString::fromStdString(opened.error().message), {}, {}, Banner::Cause::Plan);
        return;
    }
    if (page() == PageId::Start) showPage(PageId::Model);
    if (!plan_.notes().isEmpty())
        banner_->say("warn", plan_.notes().join(QLatin1Char(' ')), {}, {}, Banner::Cause::Plan);
}

void MainWindow::askForPlan() {
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open a plan"), plan_.path(), tr("Plans (*.json);;All files (*)"));
    if (!path.isEmpty()) openPlan(path);
}

bool MainWindow::savePlan(const QString& path) {
    QString target = path;
    if (target.isEmpty()) {
        const QString suggested = plan_.path().isEmpty() ? PlanFiles::suggestedName(plan_.plan()) : plan_.path();
        QFileDialog dialog(this, tr("Save the plan"), suggested, tr("Plans (*.json)"));
        dialog.setAcceptMode(QFileDialog::AcceptSave);
        // So that the question before overwriting names the file that will be written.
        dialog.setDefaultSuffix(QStringLiteral("json"));
        dialog.selectFile(suggested);
        if (dialog.exec() == QDialog::Accepted) target = dialog.selectedFiles().value(0);
    }
    if (target.isEmpty()) return false;
    const Result<void> saved = files_.save(target);
    if (!saved)
        banner_->say("bad", QString::fromStdString(saved.error().message), {}, {}, Banner::Cause::Plan);
    else
        banner_->say("good", tr("Saved as %1.").arg(plan_.path()));
    return saved.has_value();
}

void MainWindow::fineTune() {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Choose the folder of a Hugging Face checkpoint"));
    if (folder.isEmpty()) return;
    const Result<Plan> plan = fineTuningPlan(folder, plan_.plan());
    if (!plan) {
        banner_->say("bad", QString::fromStdString(plan.error().message), {}, {}, Banner::Cause::Plan);
        return;
    }
    leavePlan([this, plan = *plan, folder] {
        plan_.openNew(plan, tr("Fine-tune %1").arg(QFileInfo(folder).fileName()));
        showPage(PageId::Data);
        banner_->say("good", tr("A LoRA adapter of rank %1 for %2: choose the text to train on, then Train.")
                                 .arg(plan.adapter.rank)
                                 .arg(QFileInfo(folder).fileName()));
    });
}

void MainWindow::watchDemo() {
    leavePlan([this] {
        openNow(QStringLiteral("cpu-demo"));
        train();
    });
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QList<QUrl> urls = event->mimeData()->urls();
    if (urls.size() == 1 && urls.constFirst().toLocalFile().endsWith(QLatin1String(".json"), Qt::CaseInsensitive))
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    event->acceptProposedAction();
    openPlan(event->mimeData()->urls().constFirst().toLocalFile());
}

}  // namespace plimsoll::ui
