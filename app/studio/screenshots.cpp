// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/studio/screenshots.h"

#include <fmt/format.h>

#include <QApplication>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDir>
#include <QElapsedTimer>
#include <QHelpEvent>
#include <QPainter>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QScrollBar>
#include <QTableView>
#include <QThread>
#include <QToolTip>

#include "core/base/output.h"
#include "ui/doctor/doctor_page.h"
#include "ui/export/export_page.h"
#include "ui/export/lint_card.h"
#include "ui/lessons/lessons_page.h"
#include "ui/memory/memory_page.h"
#include "ui/pipeline/gantt.h"
#include "ui/pipeline/pipeline_page.h"
#include "ui/pipeline/ran_card.h"
#include "ui/plan/layout_page.h"
#include "ui/plan/plan_model.h"
#include "ui/planner/planner_page.h"
#include "ui/planner/planner_table.h"
#include "ui/plots/line_plot.h"
#include "ui/plots/pareto_plot.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_model.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/remedies_panel.h"
#include "ui/waterline/waterline.h"
#include "ui/widgets/search_field.h"
#include "ui/window/close_dialog.h"
#include "ui/window/help_dialog.h"
#include "ui/window/main_window.h"
#include "ui/window/top_bar.h"

namespace plimsoll::studio {

namespace {

/// Texts and runs are read on other threads: wait for them as long as a person would.
constexpr int settleMs = 700;
constexpr int dryRunMs = 20'000;

void settle(int ms = settleMs) {
    QElapsedTimer timer;
    timer.start();
    while (timer.elapsed() < ms) {
        QApplication::processEvents(QEventLoop::AllEvents, 20);
        QThread::msleep(5);
    }
}

/// A picture of the window with lists, menus, tooltips and dialogs over it.
QPixmap withPopups(ui::MainWindow& window) {
    QPixmap picture = window.grab();
    QPainter painter(&picture);
    for (QWidget* other : QApplication::topLevelWidgets())
        if (other != &window && other->isVisible())
            painter.drawPixmap(window.mapFromGlobal(other->pos()), other->grab());
    return picture;
}

class Camera {
public:
    Camera(ui::MainWindow& window, const QString& folder) : window_(window), folder_(folder) {}

    void take(const char* name) {
        const QString path = QDir(folder_).filePath(QString::fromLatin1(name) + QStringLiteral(".png"));
        if (!withPopups(window_).save(path)) {
            print_error(fmt::format("plimsoll-studio: cannot write {}\n", path.toStdString()));
            good_ = false;
            return;
        }
        print(path.toStdString() + "\n");
    }
    bool good() const { return good_; }

private:
    ui::MainWindow& window_;
    QString folder_;
    bool good_ = true;
};

void showLower(ui::MainWindow& window, ui::PageId page, bool lower) {
    auto* area = qobject_cast<QScrollArea*>(window.pageWidget(page));
    if (!area) return;
    area->verticalScrollBar()->setValue(lower ? area->verticalScrollBar()->maximum() : 0);
    settle(100);
}

void takePages(ui::MainWindow& window, Camera& camera) {
    static constexpr const char* names[] = {"start",   "model",  "hardware", "layout", "pipeline",
                                            "planner", "memory", "recipe",   "data",   "watch",
                                            "runs",    "logs",   "doctor",   "export", "lessons"};
    static_assert(std::size(names) == ui::pageCount);
    for (int i = 0; i < ui::pageCount; ++i) {
        window.showPage(static_cast<ui::PageId>(i));
        settle();
        // The dry run of the Memory page is a process of its own.
        for (int waited = 0; waited < dryRunMs && window.memoryPage()->model()->isRunning(); waited += 100) settle(100);
        camera.take(names[i]);
    }
    ui::DoctorModel* doctor = window.doctorPage()->model();
    if (doctor->hasRun()) {
        window.showPage(ui::PageId::Doctor);
        doctor->choose(ui::DoctorModel::Subject::Run);
        for (int waited = 0; waited < dryRunMs && doctor->isExamining(); waited += 100) settle(100);
        settle();
        camera.take("doctor-run");
        doctor->choose(ui::DoctorModel::Subject::Plan);
    }
    ui::LessonsPage* lessons = window.lessonsPage();
    for (int i = 1; i < static_cast<int>(lessons->model()->lessons().size()); ++i) {
        window.showPage(ui::PageId::Lessons);
        lessons->list()->selectRow(i);
        settle(100);
        camera.take(qPrintable(QStringLiteral("lesson-%1").arg(i)));
    }
    window.showPage(ui::PageId::Layout);
    showLower(window, ui::PageId::Layout, true);
    camera.take("layout-lower");
    showLower(window, ui::PageId::Layout, false);
}

/// Shows a schedule tried beside the plan's, and why one of its operations waits.
void takePipeline(ui::MainWindow& window, Camera& camera) {
    window.showPage(ui::PageId::Pipeline);
    ui::PipelinePage* page = window.pipelinePage();
    ui::WhatIf tried = page->model()->tried();
    tried.schedule = Schedule::ZbV;
    tried.ranks = 4;
    tried.microBatches = 6;
    tried.planTimes = false;
    tried.send = 0.2;
    page->model()->tryOut(tried);
    settle();
    camera.take("pipeline-what-if");
    ui::Gantt* gantt = page->gantt();
    if (const std::shared_ptr<const Pipeline> shown = page->model()->shown()) {
        const std::vector<TimedOp>& ops = shown->timeline.ranks.back();
        const QPointF at = gantt->cell(ops[ops.size() / 3]).center();
        const QPointF global = gantt->mapToGlobal(at);
        QMouseEvent move(QEvent::MouseMove, at, global, Qt::NoButton, Qt::NoButton, Qt::NoModifier);
        QApplication::sendEvent(gantt, &move);
        QHelpEvent hover(QEvent::ToolTip, at.toPoint(), global.toPoint());
        QApplication::sendEvent(gantt, &hover);
        settle(100);
        camera.take("pipeline-why");
        QToolTip::hideText();
        settle(400);
    }
    showLower(window, ui::PageId::Pipeline, true);
    camera.take("pipeline-lower");
    showLower(window, ui::PageId::Pipeline, false);
    page->model()->backToPlan();
}

/// Shows two layouts side by side, a point of the plot, and a search that finds nothing.
void takePlanner(ui::MainWindow& window, Camera& camera) {
    window.showPage(ui::PageId::Planner);
    ui::PlannerPage* page = window.plannerPage();
    QTableView* table = page->table()->table();
    if (page->table()->rows().size() > 3) {
        table->selectRow(0);
        table->selectionModel()->select(table->model()->index(3, 0),
                                        QItemSelectionModel::Select | QItemSelectionModel::Rows);
        const ui::ParetoPlot* plot = page->plot();
        const QPoint at = plot->place(plot->points()[0]).toPoint();
        QHelpEvent hover(QEvent::ToolTip, at, plot->mapToGlobal(at));
        QApplication::sendEvent(page->plot(), &hover);
        settle(200);
        camera.take("planner-tip");
        QToolTip::hideText();
        settle(400);
        page->verticalScrollBar()->setValue(page->verticalScrollBar()->maximum() / 2);
        settle(100);
        camera.take("planner-pair");
        showLower(window, ui::PageId::Planner, true);
        camera.take("planner-lower");
        showLower(window, ui::PageId::Planner, false);
    }
    (void)page->model()->ask([](PlanRequest& request) {
        request.headroom = 0.98;
        request.price_per_gpu_hour = 2;
        return Result<void>();
    });
    for (int waited = 0; waited < dryRunMs && page->model()->isSearching(); waited += 100) settle(100);
    camera.take("planner-nothing");
    (void)page->model()->ask([](PlanRequest& request) {
        request = PlanRequest();
        return Result<void>();
    });
}

/// Shows the last run with a pipeline, over its prediction.
void takeRanPipeline(ui::MainWindow& window, Camera& camera) {
    window.showPage(ui::PageId::Pipeline);
    settle();
    ui::RanCard* card = window.pipelinePage()->ran();
    if (card->model()->runs().isEmpty()) return;
    card->model()->choose(card->model()->runs().constFirst().path);
    card->runs()->setCurrentIndex(1);
    settle(1500);
    window.pipelinePage()->ensureWidgetVisible(card);
    settle(200);
    camera.take("pipeline-ran");
    card->model()->choose({});
}

/// Shows a plan that does not fit, its remedies, and its memory before and after one.
void takeRemedies(ui::MainWindow& window, Camera& camera) {
    window.showPage(ui::PageId::Layout);
    ui::PlanModel& plan = *window.plan();
    const Plan before = plan.plan();
    window.openPlan(QStringLiteral("llama-7b-4xa100"));
    plan.setText(QStringLiteral("layout.zero_stage"), QStringLiteral("0"));
    plan.setText(QStringLiteral("layout.micro_batch"), QStringLiteral("4"));
    plan.setText(QStringLiteral("layout.recompute"), QStringLiteral("none"));
    auto* layout = qobject_cast<ui::LayoutPage*>(window.pageWidget(ui::PageId::Layout));
    layout->keepBaseline()->setChecked(true);
    window.remedies()->show();
    settle();
    camera.take("remedies");
    window.remedies()->applySet()->click();
    settle(300);
    window.remedies()->hide();
    settle(200);
    camera.take("comparison");
    layout->keepBaseline()->setChecked(false);
    plan.replace(before, QStringLiteral("Back"));
    plan.undoStack()->clear();
}

/// Shows a DeepSpeed config with common mistakes.
void takeFindings(ui::MainWindow& window, Camera& camera) {
    window.showPage(ui::PageId::Export);
    QPlainTextEdit* config = window.exportPage()->lint()->config();
    config->setPlainText(QStringLiteral(R"({
  "train_batch_size": 30,
  "train_micro_batch_size_per_gpu": 8,
  "fp16": {"enabled": true},
  "bf16": {"enabled": true},
  "zero_optimization": {"stage": 2, "overlap_com": true},
  "elastic": {"enabled": true}
})"));
    showLower(window, ui::PageId::Export, true);
    settle(300);
    camera.take("export-findings");
    showLower(window, ui::PageId::Export, false);
    config->clear();
}

void takeSearch(ui::MainWindow& window, Camera& camera) {
    ui::SearchField* search = window.topBar()->search();
    search->begin();
    settle(100);
    camera.take("search");
    search->setText(QStringLiteral("zero"));
    emit search->textEdited(search->text());
    settle(100);
    camera.take("search-zero");
    search->clear();
    search->clearFocus();
}

void takePopups(ui::MainWindow& window, Camera& camera) {
    window.focusField(QStringLiteral("layout.schedule"));
    settle(100);
    if (auto* combo = qobject_cast<QComboBox*>(QApplication::focusWidget())) {
        combo->showPopup();
        settle(300);
        camera.take("list");
        combo->hidePopup();
        settle(300);  // the focus comes back; a tooltip shown before would vanish at once
    }
    ui::WaterlineBarsView* bars = window.waterline()->bars();
    const QPoint at = bars->segment(0, 2).center().toPoint();
    QHelpEvent hover(QEvent::ToolTip, at, bars->mapToGlobal(at));
    QApplication::sendEvent(bars, &hover);
    settle(100);
    camera.take("waterline-tip");
    QToolTip::hideText();
    window.showPage(ui::PageId::Model);
    window.plan()->setText(QStringLiteral("model.num_heads"), QStringLiteral("5"));
    window.plan()->endEdit();
    window.train();
    settle(200);
    camera.take("refused");
    window.plan()->undoStack()->undo();
}

/// Shows a chart's menu and, while the run is live, the question on closing.
void takeRun(ui::MainWindow& window, Camera& camera) {
    if (!window.run()->isOpen()) return;
    window.showPage(ui::PageId::Watch);
    settle();
    ui::LinePlot* plot = window.watchPage()->plots().constFirst();
    const QPoint at = plot->rect().center();
    QContextMenuEvent click(QContextMenuEvent::Mouse, at, plot->mapToGlobal(at));
    QApplication::sendEvent(plot, &click);
    settle(200);
    camera.take("chart-menu");
    if (QWidget* menu = QApplication::activePopupWidget()) menu->close();
    if (!ui::isUnderWay(*window.run()) || !ui::CloseDialog::wanted()) return;
    window.close();
    settle(200);
    camera.take("close");
    if (auto* dialog = window.findChild<ui::CloseDialog*>()) dialog->reject();
}

}  // namespace

bool write_screenshots(ui::MainWindow& window, const QString& folder) {
    if (!QDir().mkpath(folder)) {
        print_error(fmt::format("plimsoll-studio: cannot create the folder {}\n", folder.toStdString()));
        return false;
    }
    for (const Qt::UIEffect effect : {Qt::UI_FadeTooltip, Qt::UI_FadeMenu, Qt::UI_AnimateCombo, Qt::UI_AnimateMenu})
        QApplication::setEffectEnabled(effect, false);
    Camera camera(window, folder);
    takePages(window, camera);
    takePipeline(window, camera);
    takeRanPipeline(window, camera);
    takePlanner(window, camera);
    takeRemedies(window, camera);
    takeFindings(window, camera);
    takeSearch(window, camera);
    takePopups(window, camera);
    takeRun(window, camera);
    window.showHelp();
    settle(200);
    camera.take("help");
    return camera.good();
}

}  // namespace plimsoll::studio
