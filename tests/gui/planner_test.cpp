// SPDX-License-Identifier: GPL-3.0-or-later
// The Planner page in the real window: layouts come, are compared, used and taken back; constraints; nothing fits.
#include <mutex>
#include <QCheckBox>
#include <QClipboard>
#include <QGuiApplication>
#include <QHeaderView>
#include <QUndoStack>

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "tests/support/gui_fixture.h"
#include "ui/planner/planner_details.h"
#include "ui/planner/planner_form.h"
#include "ui/planner/planner_page.h"
#include "ui/planner/planner_table.h"
#include "ui/plots/pareto_plot.h"

namespace plimsoll::ui {
namespace {

/// Searches that answer when and what a test says.
struct Script {
    std::mutex mutex;
    std::vector<PlanRequest> requests;
    std::atomic<bool> held{false};     ///< a search waits until it is let go or cancelled
    std::atomic<int> cancelled{0};     ///< searches that ended because they were told to
    std::atomic<bool> nothing{false};  ///< fits
    std::vector<std::string> layouts{"layout.tp=8 layout.pp=1 layout.dp=8 layout.zero_stage=1",
                                     "layout.tp=8 layout.pp=2 layout.dp=4 layout.zero_stage=1",
                                     "layout.tp=4 layout.pp=4 layout.dp=4 layout.zero_stage=0"};

    Candidate candidate(const Plan& base, const std::string& settings) const {
        std::vector<std::string> list;
        for (const QString& each : QString::fromStdString(settings).split(QLatin1Char(' ')))
            list.push_back(each.toStdString());
        Plan plan = *with_settings(base, list);
        plan.layout.micro_batch = 1;
        plan.layout.accumulation = base.layout.global_batch() / plan.layout.dp;
        const LayoutFigures figures = figuresOfPlan(plan);
        Candidate made;
        made.cluster = plan.cluster;
        made.layout = plan.layout;
        made.peak = figures.memory->fullest().total();
        made.time = figures.step->time;
        made.step = figures.step->step;
        made.tokens_per_second = figures.step->tokens_per_second;
        made.mfu = figures.step->mfu;
        return made;
    }

    Result<PlanResult> search(const PlanRequest& request, const PlanProgress& progress,
                              const std::atomic<bool>* cancel) {
        {
            const std::lock_guard lock(mutex);
            requests.push_back(request);
        }
        PlanResult result;
        result.counts = {1'149'728, 310'222, 839'506, 0.8, 2};
        if (nothing) {
            result.binding = "the usable memory of a card";
            result.relaxations = {{"128 GPUs instead of 64", {"cluster.nodes=16", "layout.dp=16"}, std::nullopt}};
        } else {
            for (const std::string& each : layouts) result.ranked.push_back(candidate(request.plan, each));
            result.ranked[0].on_front = true;
            progress(result);
        }
        while (held && !*cancel) QThread::msleep(2);
        if (*cancel) ++cancelled;
        return result;
    }

    PlanRequest last() {
        const std::lock_guard lock(mutex);
        return requests.back();
    }
    std::size_t count() {
        const std::lock_guard lock(mutex);
        return requests.size();
    }
};

class PlannerTest : public GuiTest {
protected:
    void SetUp() override {
        GuiTest::SetUp();
        window_->resize(1440, 900);
        openPlan(QStringLiteral("llama-2-70b-64xh100"));
        page_ = window_->plannerPage();
        Planner planner;
        planner.search = [script = owned_](const PlanRequest& request, const PlanProgress& progress,
                                           const std::atomic<bool>* cancel) {
            return script->search(request, progress, cancel);
        };
        planner.neighbours = [](const PlanRequest&, const Candidate& best) {
            return std::vector<Neighbour>{{"tp 4 instead of 8", "needs 91.2 GiB of 79.2 GiB", best}};
        };
        planner.recommendations = [](const PlanRequest&, const PlanResult&) {
            return std::vector<Recommendation>{{"70B and up ZeRO-3", "the guide", false, "ZeRO-1 is faster"}};
        };
        page_->model()->setPlanner(planner);
    }

    void TearDown() override {
        script_.held = false;
        GuiTest::TearDown();
    }

    void open() {
        window_->showPage(PageId::Planner);
        ASSERT_TRUE(settled());
    }
    bool settled() {
        return wait(
            [this] {
                return page_->model()->answer() && page_->model()->answer()->ended && !page_->model()->isStale();
            },
            5000);
    }
    void click(int row, Qt::KeyboardModifiers keys = {}) {
        QTableView* view = page_->table()->table();
        QTest::mouseClick(view->viewport(), Qt::LeftButton, keys,
                          view->visualRect(view->model()->index(row, 1)).center());
    }
    const Candidate& candidate(int row) const {
        return page_->table()->rows()[static_cast<std::size_t>(row)].candidate;
    }

    const std::shared_ptr<Script> owned_ = std::make_shared<Script>();  ///< a search may outlive the test
    Script& script_ = *owned_;
    PlannerPage* page_ = nullptr;
};

TEST_F(PlannerTest, ARowIsUsedAsOneStepAndTakenBack) {
    const Plan before = plan();
    const int steps = window_->plan()->undoStack()->count();
    open();
    ASSERT_EQ(page_->table()->rows().size(), 3U);
    EXPECT_EQ(page_->table()->selected(), QList<int>({0})) << "the best is shown until somebody chooses";
    EXPECT_TRUE(page_->counts().startsWith(QStringLiteral("1,149,728 layouts in 0.8")) ||
                page_->counts().startsWith(QStringLiteral("1,149,728 layouts in 800")))
        << page_->counts().toStdString();
    const Layout wanted = candidate(2).layout;
    click(2);
    EXPECT_FALSE(page_->details()->beside().isEmpty());
    QTest::mouseClick(page_->details()->use(), Qt::LeftButton);
    EXPECT_EQ(plan().layout, wanted);
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    EXPECT_FALSE(page_->details()->use()->isEnabled()) << "it is the plan's own now";
    EXPECT_EQ(script_.count(), 1U) << "the same question: nothing is sought again";
    EXPECT_EQ(window_->plan()->numbers().memory->fullest().total(), candidate(2).peak);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan(), before);

    click(1);
    QTest::keyClick(page_->table()->table(), Qt::Key_Return);
    EXPECT_EQ(plan().layout, candidate(1).layout);
    window_->plan()->undoStack()->undo();
    QTableView* view = page_->table()->table();
    click(0);
    QTest::mouseDClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(view->model()->index(0, 1)).center());
    EXPECT_EQ(plan().layout, candidate(0).layout);
}

TEST_F(PlannerTest, TwoRowsStandSideBySide) {
    open();
    EXPECT_FALSE(page_->sideBySide()->isVisible());
    click(0);
    click(2, Qt::ControlModifier);
    ASSERT_TRUE(page_->sideBySide()->isVisible());
    QStringList names;
    const QAbstractItemModel* rows = page_->sideBySide()->model();
    for (int row = 0; row < rows->rowCount(); ++row) {
        names << rows->index(row, 0).data().toString();
        if (names.constLast() == QLatin1String("Pipeline stages")) {
            EXPECT_EQ(rows->index(row, 1).data().toString(), QStringLiteral("1"));
            EXPECT_EQ(rows->index(row, 2).data().toString(), QStringLiteral("4"));
        }
    }
    for (const char* name :
         {"Pipeline stages", "Tensor parallel", "Matrix products", "Pipeline bubble (formula)", "Activations"})
        EXPECT_TRUE(names.contains(QString::fromLatin1(name)))
            << name << ": " << names.join(QLatin1Char('|')).toStdString();
    EXPECT_FALSE(names.contains(QStringLiteral("Context parallel"))) << "it is the same in both";
}

TEST_F(PlannerTest, ConstraintsAreAskedAndBadOnesSayWhy) {
    open();
    QLineEdit* tp = page_->form()->field(PlannerField::Tp);
    tp->selectAll();
    QTest::keyClicks(tp, QStringLiteral("2, 4"));
    ASSERT_TRUE(settled());
    EXPECT_EQ(script_.last().choices.tp, (std::vector<std::int64_t>{2, 4}));
    const std::size_t searches = script_.count();
    tp->selectAll();
    QTest::keyClicks(tp, QStringLiteral("x"));
    EXPECT_TRUE(page_->form()->problem(PlannerField::Tp).contains(QStringLiteral("no whole number")));
    QTest::qWait(120);
    EXPECT_EQ(script_.count(), searches) << "what cannot be read is not asked";
    tp->selectAll();
    QTest::keyClicks(tp, QStringLiteral("any"));
    EXPECT_TRUE(page_->form()->problem(PlannerField::Tp).isEmpty());
    ASSERT_TRUE(settled());
    EXPECT_TRUE(script_.last().choices.tp.empty());

    QTest::mouseClick(page_->form()->option(PlannerSet::ZeroStage, 3), Qt::LeftButton);
    ASSERT_TRUE(settled());
    EXPECT_EQ(script_.last().choices.zero_stage, (std::vector<std::int64_t>{0, 1, 2}));
    for (int stage = 0; stage < 3; ++stage)
        QTest::mouseClick(page_->form()->option(PlannerSet::ZeroStage, stage), Qt::LeftButton);
    EXPECT_TRUE(page_->form()->option(PlannerSet::ZeroStage, 2)->isChecked()) << "the last one stays";
}

TEST_F(PlannerTest, AnEditEndsTheSearchAndOldRowsAreMarked) {
    open();
    script_.held = true;
    type("data.sequence_length", "8192");
    window_->showPage(PageId::Planner);
    // Rows of the new question come while its search goes on.
    ASSERT_TRUE(wait([this] { return script_.count() == 2 && !page_->model()->isStale(); }, 5000));
    EXPECT_TRUE(page_->model()->isSearching());
    EXPECT_TRUE(page_->counts().endsWith(QStringLiteral("so far"))) << page_->counts().toStdString();
    const int cancelled = script_.cancelled;
    window_->plan()->setText(QStringLiteral("data.sequence_length"), QStringLiteral("2048"));
    EXPECT_TRUE(page_->model()->isStale());
    EXPECT_FALSE(page_->details()->use()->isEnabled());
    const Plan now = plan();
    page_->model()->apply(candidate(1));
    EXPECT_EQ(plan(), now) << "a stale row is not applied";
    EXPECT_TRUE(wait([&] { return script_.cancelled == cancelled + 1; }, 5000));
    script_.held = false;
    ASSERT_TRUE(settled());
    EXPECT_EQ(script_.last().plan.data.sequence_length, 2048);
}

TEST_F(PlannerTest, TheSearchIsForTheFrameworkOfTheWaterline) {
    open();
    EXPECT_EQ(script_.last().framework, Framework::Plimsoll);
    EXPECT_DOUBLE_EQ(script_.last().fit_probability, 0.95);
    window_->plan()->setFramework(Framework::Megatron);
    EXPECT_TRUE(page_->model()->isStale());
    ASSERT_TRUE(settled());
    EXPECT_EQ(script_.last().framework, Framework::Megatron);
    QLineEdit* host = page_->form()->field(PlannerField::HostMemory);
    host->selectAll();
    QTest::keyClicks(host, QStringLiteral("512"));
    ASSERT_TRUE(settled());
    EXPECT_EQ(script_.last().host_memory, 512 * GiB);
    QLineEdit* chance = page_->form()->field(PlannerField::FitProbability);
    chance->selectAll();
    QTest::keyClicks(chance, QStringLiteral("0.9"));
    EXPECT_TRUE(page_->form()->problem(PlannerField::FitProbability).contains(QStringLiteral("1 to 99.9 %")));
    chance->selectAll();
    QTest::keyClicks(chance, QStringLiteral("80"));
    ASSERT_TRUE(settled());
    EXPECT_DOUBLE_EQ(script_.last().fit_probability, 0.8);
    window_->plan()->setFramework(Framework::Plimsoll);
}

TEST_F(PlannerTest, WhereNothingFitsOneClickRelaxes) {
    script_.nothing = true;
    open();
    EXPECT_TRUE(page_->counts().contains(QStringLiteral("usable memory of a card"))) << page_->counts().toStdString();
    EXPECT_FALSE(page_->table()->isVisible());
    ASSERT_TRUE(page_->relaxations()->isVisible());
    const int steps = window_->plan()->undoStack()->count();
    const QModelIndex apply = page_->relaxations()->model()->index(0, 2);
    QTest::mouseClick(page_->relaxations()->viewport(), Qt::LeftButton, {},
                      page_->relaxations()->visualRect(apply).center());
    EXPECT_EQ(plan().cluster.nodes, 16);
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    script_.nothing = false;
}

TEST_F(PlannerTest, RowsAreFilteredSortedCopiedAndFoundOnThePlot) {
    open();
    QTableView* view = page_->table()->table();
    QTest::keyClicks(page_->table()->filter(), QStringLiteral("ZERO-1, pp 2"));
    ASSERT_EQ(view->model()->rowCount(), 1);
    page_->table()->copy();
    const QStringList lines = QGuiApplication::clipboard()->text().split(QLatin1Char('\n'), Qt::SkipEmptyParts);
    ASSERT_EQ(lines.size(), 2);
    EXPECT_EQ(lines[1].split(QLatin1Char('\t')).value(0), QStringLiteral("2"));
    EXPECT_EQ(lines[1].split(QLatin1Char('\t')).value(6).toLongLong(), candidate(1).peak);
    page_->table()->filter()->clear();
    view->sortByColumn(CandidateTable::Peak, Qt::AscendingOrder);
    ASSERT_EQ(view->model()->rowCount(), 3);
    const auto peak = [view](int row) {
        return view->model()->index(row, CandidateTable::Peak).data(CandidateTable::SortRole).toLongLong();
    };
    EXPECT_LE(peak(0), peak(1));
    EXPECT_LE(peak(1), peak(2));

    ParetoPlot* plot = page_->plot();
    ASSERT_EQ(plot->points().size(), 3U);
    const QPointF at = plot->place(plot->points()[2]);
    QTest::mouseClick(plot, Qt::LeftButton, {}, at.toPoint());
    EXPECT_EQ(page_->table()->selected(), QList<int>({2}));
    EXPECT_EQ(plot->current(), 2);
}

TEST_F(GuiTest, TheSearchItselfFillsThePage) {
    window_->resize(1280, 800);
    openPlan(QStringLiteral("llama-7b-4xa100"));
    QTest::keyClick(window_.get(), Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    ASSERT_EQ(window_->page(), PageId::Planner);
    PlannerPage* page = window_->plannerPage();
    ASSERT_TRUE(wait([page] { return page->model()->answer() && page->model()->answer()->ended; }, 30'000));
    const Result<PlanResult> found = plan_layouts(page->model()->request());
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_FALSE(found->ranked.empty());
    ASSERT_GE(page->table()->rows().size(), found->ranked.size());
    EXPECT_EQ(page->table()->rows()[0].candidate.layout, found->ranked[0].layout);
    QTest::mouseClick(page->details()->use(), Qt::LeftButton);
    EXPECT_EQ(plan().layout, found->ranked[0].layout);
    ASSERT_TRUE(window_->plan()->isGood());
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Fits")));
    EXPECT_TRUE(window_->waterline()->figures().contains(QStringLiteral("tokens/s")));
    EXPECT_TRUE(window_->waterline()->timeDetails().contains(QStringLiteral("Matrix products")));
}

}  // namespace
}  // namespace plimsoll::ui
