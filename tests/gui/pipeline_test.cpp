// SPDX-License-Identifier: GPL-3.0-or-later
// The Pipeline page in the real window: trying a schedule, comparing, applying.
#include <QFile>
#include <QSlider>

#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "core/telemetry/writer.h"
#include "tests/support/gui_fixture.h"
#include "ui/common/value_format.h"
#include "ui/pipeline/gantt.h"
#include "ui/pipeline/pipeline_files.h"
#include "ui/pipeline/pipeline_page.h"
#include "ui/pipeline/ran_card.h"
#include "ui/pipeline/what_if_card.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/figure_strip.h"
#include "ui/widgets/slider_row.h"

namespace plimsoll::ui {
namespace {

void pick(QComboBox* combo, Schedule schedule, int first = 0) {
    combo->setFocus();
    QTest::keyClick(combo, Qt::Key_Home);
    for (int i = 0; i < static_cast<int>(schedule) + first; ++i) QTest::keyClick(combo, Qt::Key_Down);
}

TEST_F(GuiTest, AScheduleIsTriedComparedAndAppliedWithUndo) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    type("layout.pp", "4");
    type("layout.accumulation", "8");
    QTest::keyClick(window_.get(), Qt::Key_4, Qt::ControlModifier);
    ASSERT_EQ(window_->page(), PageId::Pipeline);
    PipelinePage* page = window_->pipelinePage();
    const Pipeline planned = *simulate_pipeline(plan());
    EXPECT_EQ(page->figures()->value(QStringLiteral("Bubble")), percentText(planned.timeline.bubble));

    pick(page->whatIf()->schedule(), Schedule::ZbH1);
    EXPECT_EQ(plan().layout.schedule, Schedule::OneFOneB) << "trying must not change the plan";
    Plan other = plan();
    other.layout.schedule = Schedule::ZbH1;
    const Pipeline tried = *simulate_pipeline(other);
    EXPECT_EQ(page->figures()->value(QStringLiteral("Bubble")), percentText(tried.timeline.bubble));
    EXPECT_EQ(page->figures()->value(QStringLiteral("Bubble per rank")), percentText(tried.timeline.bubble_per_rank));
    const TimedOp& op = tried.timeline.ranks[2].back();
    const TimedOp* shown = page->gantt()->opAt(page->gantt()->cell(op).center());
    ASSERT_NE(shown, nullptr);
    EXPECT_EQ(shown->op, op.op);

    pick(page->compareWith(), Schedule::OneFOneB, 1);
    EXPECT_TRUE(page->comparedGantt()->isVisible());
    EXPECT_TRUE(page->comparison().startsWith(QStringLiteral("1F1B takes "))) << page->comparison().toStdString();
    // On the same scale: 1F1B ends later.
    EXPECT_GT(page->comparedGantt()->cell(planned.timeline.ranks[0].back()).right(),
              page->gantt()->cell(tried.timeline.ranks[0].back()).right());

    QTest::mouseClick(page->whatIf()->applyButton(), Qt::LeftButton);
    EXPECT_EQ(plan().layout.schedule, Schedule::ZbH1);
    EXPECT_FALSE(page->whatIf()->applyButton()->isEnabled());
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().layout.schedule, Schedule::OneFOneB);
    EXPECT_EQ(page->figures()->value(QStringLiteral("Bubble")), percentText(planned.timeline.bubble));
}

TEST_F(GuiTest, SlidersTryAShapeAndResetGoesBack) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->showPage(PageId::Pipeline);
    PipelinePage* page = window_->pipelinePage();
    const QString before = page->figures()->value(QStringLiteral("Bubble"));
    QTest::keyClick(page->whatIf()->ranks()->slider(), Qt::Key_End);
    EXPECT_EQ(page->model()->tried().ranks, 64);
    EXPECT_EQ(plan().layout.pp, 2);
    ASSERT_NE(page->model()->shown(), nullptr);
    EXPECT_EQ(page->model()->shown()->schedule.ranks, 64);
    QTest::mouseClick(page->whatIf()->backButton(), Qt::LeftButton);
    EXPECT_EQ(page->figures()->value(QStringLiteral("Bubble")), before);
}

TEST_F(GuiTest, ThePipelineIsSavedAsDrawingAndTrace) {
    const Pipeline pipeline = *simulate_pipeline(Schedule::ZbH1, {4, 8}, StageTimes::uniform(4, 1, 1, 1));
    for (const auto& [name, kind, begins] :
         {std::tuple{"p.svg", PipelineFile::Drawing, "<svg"}, {"p.json", PipelineFile::Trace, "["}}) {
        ASSERT_TRUE(writePipeline(pipeline, kind, path(name)));
        QFile file(path(name));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        EXPECT_TRUE(file.readAll().trimmed().startsWith(begins)) << name;
    }
}

TEST_F(GuiTest, AListIsSavedAndFollowedWithUndo) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    const Pipeline gpipe = *simulate_pipeline(Schedule::GPipe, {4, 8}, StageTimes::uniform(4, 1, 1, 1));
    ASSERT_TRUE(writePipeline(gpipe, PipelineFile::List, path("list.json")));
    ASSERT_TRUE(followList(*window_->plan(), path("list.json")));
    EXPECT_EQ(plan().layout.pp, 4);
    EXPECT_EQ(plan().layout.accumulation, 8);
    ASSERT_NE(window_->plan()->numbers().pipeline, nullptr);
    EXPECT_EQ(window_->plan()->numbers().pipeline->schedule.ops, gpipe.schedule.ops);
    window_->showPage(PageId::Pipeline);
    EXPECT_EQ(window_->pipelinePage()->figures()->value(QStringLiteral("Closed form")), QStringLiteral("none"));
    window_->plan()->undoStack()->undo();
    EXPECT_TRUE(plan().layout.schedule_file.empty());
    EXPECT_FALSE(followList(*window_->plan(), path("none.json")));
}

/// What the ranks of a run with these operations record (core/engine/train/reporter.cpp), a millisecond the unit.
void recordStep(const RunFolder& run, const Pipeline& pipeline, std::uint64_t step) {
    for (std::size_t rank = 0; rank < pipeline.timeline.ranks.size(); ++rank) {
        const std::vector<TimedOp>& ops = pipeline.timeline.ranks[rank];
        Json list = Json::array();
        for (const TimedOp& op : ops)
            list.push_back(
                {short_name(op.op, false), 1e-3 * (op.start - ops[0].start), 1e-3 * (op.end - ops[0].start)});
        auto writer = TelemetryWriter::open(run.telemetry_path(static_cast<int>(rank)));
        ASSERT_TRUE(writer);
        ASSERT_TRUE(
            writer->event({step,
                           1e9,
                           EventKind::Pipeline,
                           "",
                           {{"pp_rank", rank}, {"origin", 1e9 + 1e-3 * ops[0].start}, {"ops", std::move(list)}}}));
    }
}

TEST_F(GuiTest, ARunsOperationsLieOverTheirPrediction) {
    Plan demo = *with_settings(plan_from_argument("cpu-demo")->plan,
                               {"layout.pp=4", "layout.dp=1", "layout.accumulation=8", "cluster.gpus_per_node=4"});
    ASSERT_TRUE(check_plan(demo).empty()) << check_plan(demo)[0].sentence;
    const Result<RunFolder> run = RunFolder::create(runs_folder() / "piped", demo, false);
    ASSERT_TRUE(run) << run.error().message;
    // Sends take time, which a simulation from the operations' own times leaves out.
    const Pipeline ran = *simulate_pipeline(demo, StageTimes::uniform(4, 2, 2, 2, 0.5));
    const Pipeline own = *simulate_pipeline(demo, StageTimes::uniform(4, 2, 2, 2, 0));
    recordStep(*run, ran, 10);

    window_->showPage(PageId::Pipeline);
    RanCard* card = window_->pipelinePage()->ran();
    ASSERT_TRUE(wait([card] { return card->runs()->count() == 2; }, 5000));
    card->runs()->setFocus();
    QTest::keyClick(card->runs(), Qt::Key_Down);
    ASSERT_TRUE(wait([card] { return card->model()->shown() != nullptr; }, 5000)) << card->words().toStdString();
    EXPECT_TRUE(card->gantt()->isVisible());
    const RanPipeline& shown = *card->model()->shown();
    EXPECT_EQ(shown.step, 10U);
    EXPECT_NEAR(shown.measured->timeline.makespan, ran.timeline.makespan, 1e-3);
    EXPECT_NEAR(shown.measured->timeline.bubble, ran.timeline.bubble, 1e-4);
    ASSERT_NE(shown.fromOwnTimes, nullptr);
    EXPECT_NEAR(shown.fromOwnTimes->timeline.makespan, own.timeline.makespan, 1e-3);
    EXPECT_TRUE(card->words().startsWith(QStringLiteral("Step 10 took "))) << card->words().toStdString();
    // Each operation is outlined where it was predicted.
    const TimedOp& last = shown.measured->timeline.ranks[2].back();
    const OpPlace place{2, shown.measured->timeline.ranks[2].size() - 1};
    EXPECT_GT(card->gantt()->cell(last).left(), card->gantt()->predictedCell(place).left());
    EXPECT_TRUE(ranOpWords(*shown.measured, *shown.fromOwnTimes, 2, place.index).contains(QStringLiteral("late")));

    // Another step, while somebody looks at another page: read when the page is shown again.
    window_->showPage(PageId::Layout);
    recordStep(*run, own, 20);
    window_->showPage(PageId::Pipeline);
    ASSERT_TRUE(wait([card] { return card->model()->shown() && card->model()->shown()->step == 20; }, 5000));
    card->predictions()->setFocus();
    QTest::keyClick(card->predictions(), Qt::Key_Down);
    EXPECT_TRUE(card->words().contains(QStringLiteral("predicted"))) << card->words().toStdString();
}

}  // namespace
}  // namespace plimsoll::ui
