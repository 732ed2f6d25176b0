// SPDX-License-Identifier: GPL-3.0-or-later
// The studio's window: navigation at the left, a page, the waterline under it, the bar at the top.
#pragma once

#include <QHash>
#include <QMainWindow>
#include <QStackedWidget>

#include "ui/common/command_list.h"
#include "ui/plan/plan_files.h"
#include "ui/run/run_starter.h"
#include "ui/widgets/theme.h"
#include "ui/window/navigation.h"

class QMenu;

namespace plimsoll::ui {

class Banner;
class DoctorPage;
class ExportPage;
class HardwarePage;
class LessonsPage;
class LogPage;
class MemoryPage;
class ModelPage;
class Page;
class PipelinePage;
class PlannerPage;
class RemediesPanel;
class RunControls;
class RunModel;
class RunsPage;
class StartPage;
class TopBar;
class Waterline;
class WatchPage;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    explicit MainWindow(QWidget* parent = nullptr);
    ~MainWindow() override;

    PlanModel* plan() { return &plan_; }
    RunModel* run() const { return run_; }

    /// Opens the draft of the last session, or the given plan (a file or a preset); then the live run.
    void begin(const QString& pathOrPreset = {});
    /// A plan file or a preset. Where the present plan has edits, the person is asked first.
    void openPlan(const QString& pathOrPreset);
    /// The same for a plan that belongs to no file; `what` names the step of undo.
    void openNewPlan(const Plan& plan, const QString& what);
    /// Asks for a path where `path` is empty. False when the plan was not saved.
    bool savePlan(const QString& path);
    /// Starts a run of the plan; asks first where the plan does not fit.
    void train();
    /// Goes on with an ended run.
    void resume(const QString& runPath);
    /// Asks how many steps more, and how the learning rate goes on.
    void askForMoreSteps(const QString& runPath);
    void showHelp();
    void showAbout();

    void showPage(PageId page);
    PageId page() const;
    /// Shows the page that holds the field and puts the cursor into it.
    bool focusField(const QString& key);
    QWidget* pageWidget(PageId page) const { return pages_->widget(static_cast<int>(page)); }

    Waterline* waterline() const { return waterline_; }
    RemediesPanel* remedies() const { return remedies_; }
    TopBar* topBar() const { return top_; }
    PipelinePage* pipelinePage() const { return pipeline_page_; }
    PlannerPage* plannerPage() const { return planner_page_; }
    MemoryPage* memoryPage() const { return memory_page_; }
    LessonsPage* lessonsPage() const { return lessons_page_; }
    ExportPage* exportPage() const { return export_page_; }
    WatchPage* watchPage() const { return watch_page_; }
    RunsPage* runsPage() const { return runs_page_; }
    LogPage* logPage() const { return log_page_; }
    StartPage* startPage() const { return start_page_; }
    DoctorPage* doctorPage() const { return doctor_page_; }

protected:
    void closeEvent(QCloseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    void makePages();
    void connectPages();
    void connectRuns();
    void arrange();
    QAction* addAction(const QString& text, const QKeySequence& shortcut, const std::function<void()>& run);
    void fillRecent();
    QList<Command> commands();
    /// Runs `then` when the present plan may go: it has no edits, or they were saved or given up.
    void leavePlan(const std::function<void()>& then);
    void openNow(const QString& pathOrPreset);
    void startNow();
    void askBeforeMisfit(const QString& need);
    void fineTune();
    void watchDemo();
    void askForPlan();
    void refuse(const Obstacle& obstacle);
    void withdrawRefusal();
    void askBeforeClosing();
    void follow(const QString& runPath);
    void watchEnd();
    void updateTitle();
    /// The waterline shows what the page is about: the plan, or the run.
    void showSubject();
    void useTheme(ThemeChoice choice);

    PlanModel plan_;
    PlanFiles files_;
    RunStarter starter_;
    RunModel* run_;
    QList<QAction*> actions_;
    QAction* undo_ = nullptr;
    QAction* redo_ = nullptr;
    QAction* export_ = nullptr;
    QAction* ask_close_ = nullptr;
    QMenu* menu_;
    QMenu* recent_ = nullptr;

    RunControls* controls_;
    TopBar* top_;
    Navigation* navigation_;
    QWidget* right_;  ///< page, remedies and waterline, with the notice over them
    QStackedWidget* pages_;
    Banner* banner_;
    RemediesPanel* remedies_ = nullptr;
    Waterline* waterline_ = nullptr;
    ModelPage* model_page_ = nullptr;
    HardwarePage* hardware_page_ = nullptr;
    PipelinePage* pipeline_page_ = nullptr;
    PlannerPage* planner_page_ = nullptr;
    MemoryPage* memory_page_ = nullptr;
    LessonsPage* lessons_page_ = nullptr;
    ExportPage* export_page_ = nullptr;
    WatchPage* watch_page_ = nullptr;
    RunsPage* runs_page_ = nullptr;
    LogPage* log_page_ = nullptr;
    StartPage* start_page_ = nullptr;
    DoctorPage* doctor_page_ = nullptr;
    QString refused_;       ///< why the plan was not trained, while the banner shows it
    bool closing_ = false;  ///< the person knows that the run goes on
    bool was_under_way_ = false;
};

}  // namespace plimsoll::ui
