// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileDialog>
#include <QMenu>
#include <QMimeData>
#include <QSettings>
#include <QVBoxLayout>

#include "ui/common/plan_field.h"
#include "ui/doctor/doctor_page.h"
#include "ui/export/export_page.h"
#include "ui/hardware/hardware_page.h"
#include "ui/lessons/lessons_page.h"
#include "ui/memory/memory_page.h"
#include "ui/pipeline/pipeline_page.h"
#include "ui/plan/data_page.h"
#include "ui/plan/layout_page.h"
#include "ui/plan/model_page.h"
#include "ui/plan/recipe_page.h"
#include "ui/planner/planner_page.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_model.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/remedies_panel.h"
#include "ui/waterline/waterline.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/search_field.h"
#include "ui/window/close_dialog.h"
#include "ui/window/top_bar.h"

namespace plimsoll::ui {

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      files_(&plan_),
      run_(new RunModel(this)),
      menu_(new QMenu(this)),
      controls_(new RunControls(run_, &starter_, this)),
      top_(new TopBar(&plan_, controls_, menu_, this)),
      navigation_(new Navigation(this)),
      banner_(new Banner(this)),
      pages_(new QStackedWidget(this)) {
    setAcceptDrops(true);
    resize(1440, 900);
    setMinimumSize(960, 620);
    makePages();
    // Created after the pages, for the order of Tab.
    remedies_ = new RemediesPanel(&plan_, this);
    waterline_ = new Waterline(&plan_, this);
    makeActions();
    arrange();

    connect(navigation_, &Navigation::chosen, this, &MainWindow::showPage);
    connect(top_->search(), &SearchField::opened, this,
            [this] { top_->search()->commands()->setCommands(commands()); });
    connect(waterline_, &Waterline::fieldRequested, this, &MainWindow::focusField);
    connect(waterline_, &Waterline::remediesRequested, this,
            [this] { remedies_->setVisible(!remedies_->isVisible()); });
    connect(controls_, &RunControls::trainRequested, this, &MainWindow::train);
    connect(controls_, &RunControls::stopRequested, this, [this] {
        if (!run_->requestStop()) banner_->say("bad", tr("The run cannot be told to stop: %1").arg(run_->problem()));
    });
    connect(controls_, &RunControls::stopNowRequested, this, [this] {
        if (!run_->requestStopNow()) banner_->say("bad", tr("The run cannot be told to stop: %1").arg(run_->problem()));
    });
    connect(&starter_, &RunStarter::started, this, &MainWindow::follow);
    connect(&starter_, &RunStarter::refused, this, &MainWindow::refuse);
    connect(run_, &RunModel::statusChanged, this, &MainWindow::watchEnd);
    connect(&files_, &PlanFiles::draftFailed, this, [this](const QString& sentence) {
        banner_->say("warn", tr("The draft of this plan cannot be kept: %1").arg(sentence));
    });
    connect(&plan_, &PlanModel::fileChanged, this, &MainWindow::updateTitle);
    connect(&plan_, &PlanModel::changed, this, &MainWindow::updateTitle);
    connect(&plan_, &PlanModel::changed, this, &MainWindow::withdrawRefusal);
    restoreGeometry(QSettings().value(QStringLiteral("window/geometry")).toByteArray());
    showPage(PageId::Model);
    updateTitle();
    // Nothing has the focus: the first Tab goes to the search.
    setFocus();
}

MainWindow::~MainWindow() {
    // The pages end before the models that they show: a field that loses the focus still asks its plan.
    hide();
    delete takeCentralWidget();
}

void MainWindow::makePages() {
    model_page_ = new ModelPage(&plan_, pages_);
    hardware_page_ = new HardwarePage(&plan_, pages_);
    export_page_ = new ExportPage(&plan_, pages_);
    watch_page_ = new WatchPage(run_, pages_);
    // In the order of PageId.
    pages_->addWidget(model_page_);
    pages_->addWidget(hardware_page_);
    auto* layout = new LayoutPage(&plan_, pages_);
    pages_->addWidget(layout);
    pipeline_page_ = new PipelinePage(&plan_, pages_);
    pages_->addWidget(pipeline_page_);
    planner_page_ = new PlannerPage(&plan_, pages_);
    pages_->addWidget(planner_page_);
    memory_page_ = new MemoryPage(&plan_, pages_);
    pages_->addWidget(memory_page_);
    pages_->addWidget(new RecipePage(&plan_, pages_));
    pages_->addWidget(new DataPage(&plan_, pages_));
    pages_->addWidget(watch_page_);
    doctor_page_ = new DoctorPage(&plan_, run_, pages_);
    pages_->addWidget(doctor_page_);
    pages_->addWidget(export_page_);
    lessons_page_ = new LessonsPage(&plan_, pages_);
    pages_->addWidget(lessons_page_);
    connect(layout, &LayoutPage::pipelineRequested, this, [this] { showPage(PageId::Pipeline); });
    connect(pipeline_page_, &PipelinePage::failed, this,
            [this](const QString& sentence) { banner_->say("bad", sentence); });
    connect(model_page_, &ModelPage::failed, this, [this](const QString& sentence) { banner_->say("bad", sentence); });
    connect(model_page_, &ModelPage::noted, this, [this](const QString& sentence) { banner_->say("warn", sentence); });
    connect(export_page_, &ExportPage::failed, this,
            [this](const QString& sentence) { banner_->say("bad", sentence); });
    connect(export_page_, &ExportPage::done, this, [this](const QString& sentence) { banner_->say("good", sentence); });
    connect(watch_page_, &WatchPage::trainRequested, this, &MainWindow::train);
}

void MainWindow::arrange() {
    top_->addButton(undo_, tr("Undo"));
    top_->addButton(redo_, tr("Redo"));
    top_->addButton(export_, tr("Export"));
    auto* right = new QVBoxLayout;
    right->setSpacing(0);
    right->addWidget(banner_);
    right->addWidget(pages_, 1);
    right->addWidget(remedies_);
    right->addWidget(waterline_);
    auto* lower = new QHBoxLayout;
    lower->setSpacing(0);
    lower->addWidget(navigation_);
    lower->addLayout(right, 1);
    auto* central = new QWidget(this);
    auto* column = new QVBoxLayout(central);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(top_);
    column->addLayout(lower, 1);
    setCentralWidget(central);
}

void MainWindow::begin(const QString& pathOrPreset) {
    if (!pathOrPreset.isEmpty()) {
        openPlan(pathOrPreset);
        plan_.undoStack()->clear();
    } else if (const Result<bool> restored = files_.restoreDraft(); !restored) {
        banner_->say("warn", QString::fromStdString(restored.error().message));
    }
    const QString newest = RunModel::newestRun();
    if (newest.isEmpty()) return;
    run_->open(newest);
    const Result<RunFolder> folder = RunFolder::open(newest.toStdString());
    if (folder && folder->live()) showPage(PageId::Watch);
}

void MainWindow::openPlan(const QString& pathOrPreset) {
    if (const Result<void> opened = files_.open(pathOrPreset); !opened) {
        banner_->say("bad", QString::fromStdString(opened.error().message));
        return;
    }
    if (!plan_.notes().isEmpty()) banner_->say("warn", plan_.notes().join(QLatin1Char(' ')));
}

void MainWindow::askForPlan() {
    const QString path =
        QFileDialog::getOpenFileName(this, tr("Open a plan"), plan_.path(), tr("Plans (*.json);;All files (*)"));
    if (!path.isEmpty()) openPlan(path);
}

void MainWindow::savePlan(const QString& path) {
    QString target = path;
    if (target.isEmpty()) {
        const QString suggested = plan_.path().isEmpty() ? QStringLiteral("plan.json") : plan_.path();
        target = QFileDialog::getSaveFileName(this, tr("Save the plan"), suggested, tr("Plans (*.json)"));
    }
    if (target.isEmpty()) return;
    if (const Result<void> saved = files_.save(target); !saved)
        banner_->say("bad", QString::fromStdString(saved.error().message));
    else
        banner_->say("good", tr("Saved as %1.").arg(target));
}

void MainWindow::train() {
    if (isUnderWay(*run_)) {
        banner_->say(
            "warn",
            tr("%1 is still running; stop it or let it finish before you start another run.").arg(run_->runName()),
            tr("Show it"), [this] { showPage(PageId::Watch); });
        return;
    }
    banner_->hide();
    starter_.start(plan_);
}

void MainWindow::refuse(const Obstacle& obstacle) {
    refused_ = obstacle.sentence;
    if (obstacle.cure) {
        banner_->say("bad", obstacle.sentence, obstacle.cureName,
                     [this, plan = *obstacle.cure, name = obstacle.cureName] { plan_.replace(plan, name); });
    } else if (!obstacle.key.isEmpty()) {
        const PlanField* field = findPlanField(obstacle.key);
        banner_->say("bad", obstacle.sentence, tr("Show %1").arg(field ? field->label : obstacle.key),
                     [this, key = obstacle.key] { focusField(key); });
    } else {
        banner_->say("bad", obstacle.sentence);
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
    run_->open(runPath);
    showPage(PageId::Watch);
}

void MainWindow::watchEnd() {
    const bool underWay = isUnderWay(*run_);
    if (was_under_way_ && !underWay && page() != PageId::Watch && run_->isOpen()) {
        const RunState& state = run_->state();
        const bool failed = state.status == RunStatus::Failed;
        const QString words = failed ? tr("%1 failed: %2").arg(run_->runName(), QString::fromStdString(state.reason))
                                     : tr("%1 has ended.").arg(run_->runName());
        banner_->say(failed ? "bad" : "good", words, tr("Show it"), [this] { showPage(PageId::Watch); });
    }
    was_under_way_ = underWay;
}

void MainWindow::showPage(PageId page) {
    pages_->setCurrentIndex(static_cast<int>(page));
    navigation_->setCurrent(page);
}

PageId MainWindow::page() const { return static_cast<PageId>(pages_->currentIndex()); }

bool MainWindow::focusField(const QString& key) {
    for (int i = 0; i < pages_->count(); ++i) {
        auto* page = qobject_cast<Page*>(pages_->widget(i));
        if (!page || !page->hasField(key)) continue;
        showPage(static_cast<PageId>(i));
        return page->focusField(key);
    }
    return false;
}

void MainWindow::updateTitle() {
    const QString name = QString::fromStdString(plan_.plan().name);
    setWindowTitle(tr("%1[*] – Plimsoll").arg(name.isEmpty() ? planSummary(plan_.plan()) : name));
    setWindowModified(!plan_.path().isEmpty() && plan_.isModified());
}

void MainWindow::closeEvent(QCloseEvent* event) {
    // Closing is not stopping: the person is told before the window goes, and the run continues.
    if (isUnderWay(*run_) && !closing_ && CloseDialog::wanted() && !qApp->isSavingSession()) {
        askBeforeClosing();
        event->ignore();
        return;
    }
    (void)files_.saveDraft();
    QSettings().setValue(QStringLiteral("window/geometry"), saveGeometry());
    QMainWindow::closeEvent(event);
}

void MainWindow::askBeforeClosing() {
    if (findChild<CloseDialog*>()) return;
    auto* dialog = new CloseDialog(run_->runName(), this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &CloseDialog::closeChosen, this, [this] {
        closing_ = true;
        close();
    });
    connect(dialog, &CloseDialog::stopChosen, this, [this] {
        if (!isUnderWay(*run_) || run_->requestStop()) {
            closing_ = true;
            close();
        } else {
            banner_->say("bad", tr("%1 cannot be told to stop; may you write in its folder?").arg(run_->runName()));
        }
    });
    // Not exec(): the plots behind it stay live.
    dialog->open();
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
