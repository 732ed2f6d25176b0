// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/window/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QMenu>
#include <QScreen>
#include <QSettings>
#include <QVBoxLayout>

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
#include "ui/run/log_page.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/runs_page.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/remedies_panel.h"
#include "ui/waterline/waterline.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/search_field.h"
#include "ui/window/close_dialog.h"
#include "ui/window/start_page.h"
#include "ui/window/top_bar.h"

namespace plimsoll::ui {

namespace {

/// The usual size, or what of it the screen has room for beside a frame and a panel.
QSize sizeOnScreen(const QScreen* screen) {
    const QSize usual(1440, 900);
    return screen ? usual.boundedTo(screen->availableSize() - QSize(16, 48)) : usual;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      files_(&plan_),
      run_(new RunModel(this)),
      menu_(new QMenu(this)),
      controls_(new RunControls(run_, &starter_, this)),
      top_(new TopBar(&plan_, controls_, menu_, this)),
      navigation_(new Navigation(this)),
      right_(new QWidget(this)),
      pages_(new QStackedWidget(right_)),
      banner_(new Banner(pages_, right_)) {
    setAcceptDrops(true);
    setMinimumSize(960, 600);
    resize(sizeOnScreen(screen()));
    makePages();
    connectPages();
    connectRuns();
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
    connect(run_, &RunModel::statusChanged, this, &MainWindow::showSubject);
    connect(&files_, &PlanFiles::draftFailed, this, [this](const QString& sentence) {
        banner_->say("warn", tr("The draft of this plan cannot be kept: %1").arg(sentence));
    });
    connect(&plan_, &PlanModel::fileChanged, this, &MainWindow::updateTitle);
    connect(&plan_, &PlanModel::changed, this, &MainWindow::updateTitle);
    connect(&plan_, &PlanModel::changed, this, &MainWindow::withdrawRefusal);
    connect(&plan_, &PlanModel::planOpened, this, [this] {
        banner_->withdraw(Banner::Cause::Plan);
        banner_->withdraw(Banner::Cause::Edit);
    });
    connect(&plan_, &PlanModel::planned, this, [this](const QString& sentence) {
        banner_->say(
            "good", sentence, tr("Undo"), [this] { plan_.undoStack()->undo(); }, Banner::Cause::Edit);
    });
    connect(&plan_, &PlanModel::noticed, this, [this](const QString& sentence) {
        if (sentence.isEmpty())
            banner_->withdraw(Banner::Cause::Edit);
        else
            banner_->say(
                "", sentence, tr("Undo"), [this] { plan_.undoStack()->undo(); }, Banner::Cause::Edit);
    });
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
    start_page_ = new StartPage(pages_);
    model_page_ = new ModelPage(&plan_, pages_);
    hardware_page_ = new HardwarePage(&plan_, pages_);
    export_page_ = new ExportPage(&plan_, pages_);
    watch_page_ = new WatchPage(run_, pages_);
    // In the order of PageId.
    pages_->addWidget(start_page_);
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
    runs_page_ = new RunsPage(watch_page_->runs(), run_, pages_);
    pages_->addWidget(runs_page_);
    log_page_ = new LogPage(run_, pages_);
    pages_->addWidget(log_page_);
    doctor_page_ = new DoctorPage(&plan_, run_, pages_);
    pages_->addWidget(doctor_page_);
    pages_->addWidget(export_page_);
    lessons_page_ = new LessonsPage(&plan_, pages_);
    pages_->addWidget(lessons_page_);
    connect(layout, &LayoutPage::pipelineRequested, this, [this] { showPage(PageId::Pipeline); });
}

void MainWindow::connectPages() {
    const auto bad = [this](const QString& sentence) { banner_->say("bad", sentence, {}, {}, Banner::Cause::Plan); };
    const auto good = [this](const QString& sentence) { banner_->say("good", sentence); };
    connect(pipeline_page_, &PipelinePage::failed, this, bad);
    connect(model_page_, &ModelPage::failed, this, bad);
    connect(model_page_, &ModelPage::noted, this,
            [this](const QString& sentence) { banner_->say("warn", sentence, {}, {}, Banner::Cause::Plan); });
    connect(export_page_, &ExportPage::failed, this, bad);
    connect(export_page_, &ExportPage::done, this, good);
    connect(runs_page_, &RunsPage::failed, this, bad);
    connect(runs_page_, &RunsPage::done, this, good);
    connect(lessons_page_, &LessonsPage::planRequested, this,
            [this](const Plan& plan) { openNewPlan(plan, tr("Open the lesson's plan")); });
    connect(start_page_, &StartPage::planRequested, this, &MainWindow::openPlan);
    connect(start_page_, &StartPage::fitRequested, this, [this] { showPage(PageId::Model); });
    connect(start_page_, &StartPage::fineTuneRequested, this, &MainWindow::fineTune);
    connect(start_page_, &StartPage::demoRequested, this, &MainWindow::watchDemo);
    connect(start_page_, &StartPage::runRequested, this, &MainWindow::follow);
    connect(start_page_, &StartPage::shown, this,
            [this] { start_page_->setRecent(files_.recent(), *watch_page_->runs()); });
    connect(watch_page_->runs(), &RunListModel::refreshed, this, [this] {
        if (page() == PageId::Start) start_page_->setRecent(files_.recent(), *watch_page_->runs());
    });
}

void MainWindow::arrange() {
    top_->addButton(undo_, tr("Undo"));
    top_->addButton(redo_, tr("Redo"));
    top_->addButton(export_, tr("Export"));
    auto* right = new QVBoxLayout(right_);
    right->setContentsMargins(0, 0, 0, 0);
    right->setSpacing(0);
    right->addWidget(pages_, 1);
    right->addWidget(remedies_);
    right->addWidget(waterline_);
    auto* lower = new QHBoxLayout;
    lower->setSpacing(0);
    lower->addWidget(navigation_);
    lower->addWidget(right_, 1);
    auto* central = new QWidget(this);
    auto* column = new QVBoxLayout(central);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(top_);
    column->addLayout(lower, 1);
    setCentralWidget(central);
}

void MainWindow::showPage(PageId page) {
    pages_->setCurrentIndex(static_cast<int>(page));
    navigation_->setCurrent(page);
    showSubject();
}

void MainWindow::showSubject() {
    const bool ofRun = page() == PageId::Watch;
    waterline_->setVisible(page() != PageId::Start && page() != PageId::Runs && page() != PageId::Logs);
    if (ofRun && run_->isOpen())
        waterline_->showRun(run_->runName(), run_->plan());
    else
        waterline_->showRun({}, std::nullopt);
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

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    constexpr int low = 720;
    if (waterline_) waterline_->setShort(height() < low);
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

}  // namespace plimsoll::ui
