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
class MemoryPage;
class ModelPage;
class Page;
class PipelinePage;
class PlannerPage;
class RemediesPanel;
class RunControls;
class RunModel;
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
    void openPlan(const QString& pathOrPreset);
    /// Asks for a path where `path` is empty.
    void savePlan(const QString& path);
    void train();
    void showHelp();

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
    DoctorPage* doctorPage() const { return doctor_page_; }

protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void makeActions();
    void makePages();
    void arrange();
    QAction* addAction(const QString& text, const QKeySequence& shortcut, const std::function<void()>& run);
    void fillRecent();
    QList<Command> commands();
    void askForPlan();
    void refuse(const Obstacle& obstacle);
    void withdrawRefusal();
    void askBeforeClosing();
    void follow(const QString& runPath);
    void watchEnd();
    void updateTitle();
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
    Banner* banner_;
    QStackedWidget* pages_;
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
    DoctorPage* doctor_page_ = nullptr;
    QString refused_;       ///< why the plan was not trained, while the banner shows it
    bool closing_ = false;  ///< the person knows that the run goes on
    bool was_under_way_ = false;
};

}  // namespace plimsoll::ui
