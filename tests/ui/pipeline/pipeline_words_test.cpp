// SPDX-License-Identifier: GPL-3.0-or-later
// The Pipeline page's model: figures, reasons and what is tried beside the plan.
#include <gtest/gtest.h>

#include <QTest>

#include "ui/common/separated_text.h"
#include "ui/pipeline/pipeline_model.h"
#include "ui/pipeline/pipeline_why.h"
#include "ui/pipeline/pipeline_words.h"
#include "ui/plan/plan_model.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/live_view.h"
#include "ui/widgets/time_span.h"

namespace plimsoll::ui {
namespace {

Pipeline pipelineOf(Schedule kind, ScheduleShape shape, const StageTimes& times) {
    return *simulate_pipeline(kind, shape, times);
}

TEST(PipelineWords, FiguresStandBesideTheClosedForm) {
    const Pipeline pipeline = pipelineOf(Schedule::OneFOneB, {4, 8}, StageTimes::uniform(4, 1, 1, 1));
    const QList<Figure> figures = pipelineFigures(pipeline);
    ASSERT_EQ(figures.size(), 4);
    EXPECT_EQ(figures[0].value, QStringLiteral("27.3 %"));  // 3 / 11
    EXPECT_EQ(figures[1].value, QStringLiteral("27.3 %"));
    EXPECT_EQ(figures[2].value, QStringLiteral("4"));
    EXPECT_TRUE(differenceWords(pipeline).contains(QStringLiteral("agrees")));
    const QList<Figure> split = pipelineFigures(pipelineOf(Schedule::ZbH1, {4, 8}, StageTimes::uniform(4, 1, 1, 1)));
    ASSERT_EQ(split.size(), 5);
    EXPECT_EQ(split[2].value, QStringLiteral("11.1 %"));  // 3 (F + B - W) = 3 lost beside 24
}

TEST(PipelineWords, TheReasonsOfADifferenceAreNamed) {
    StageTimes times = StageTimes::uniform(4, 1, 1, 1, 0.5);
    times.forward.back() = times.backward_input.back() = times.backward_weight.back() = 1.2;
    const QString words = differenceWords(pipelineOf(Schedule::OneFOneB, {4, 8}, times));
    EXPECT_TRUE(words.contains(QStringLiteral(" from communication"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral(" from unequal stages"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("the last stage holds the head"))) << words.toStdString();
}

TEST(PipelineWords, TheComparisonSaysWhatIsSavedAndWhatItCosts) {
    const StageTimes times = StageTimes::uniform(4, 1, 1, 1);
    const Pipeline first = pipelineOf(Schedule::OneFOneB, {4, 8}, times);
    const QString saves = comparisonWords(first, pipelineOf(Schedule::ZbH1, {4, 8}, times));
    EXPECT_TRUE(saves.startsWith(QStringLiteral("ZB-H1 saves "))) << saves.toStdString();
    EXPECT_TRUE(saves.contains(QStringLiteral("as many activations (4 micro-batches)"))) << saves.toStdString();
    const QString costs = comparisonWords(first, pipelineOf(Schedule::GPipe, {4, 8}, times));
    EXPECT_TRUE(costs.contains(QStringLiteral("takes as long"))) << costs.toStdString();
    EXPECT_TRUE(costs.contains(QStringLiteral("8 micro-batches, not 4"))) << costs.toStdString();
    EXPECT_EQ(comparisonWords(first, first), QStringLiteral("1F1B is the pipeline above."));
}

TEST(PipelineWhy, TheTooltipSaysWhatWasWaitedFor) {
    const Pipeline pipeline = pipelineOf(Schedule::OneFOneB, {4, 8}, StageTimes::uniform(4, 1, 1, 1, 0.5));
    const Causes causes(pipeline.schedule, pipeline.timeline);
    const QString words = whyWords(pipeline, causes, {3, 0});
    // Three forwards and three sends before it.
    EXPECT_TRUE(words.contains(QStringLiteral("4.5 to 5.5"))) << words.toStdString();
    EXPECT_TRUE(words.contains(QStringLiteral("its input, <b>F0</b> of rank 2, was done at 4 and 0.5 on the way")))
        << words.toStdString();
    EXPECT_EQ(chainOf(causes, {3, 0}, 12).size(), 4U);
    EXPECT_TRUE(words.contains(QStringLiteral("starts the step"))) << words.toStdString();
    EXPECT_TRUE(whyWords(pipeline, causes, {0, 0}).contains(QStringLiteral("waits for nothing")));
}

TEST(ScheduleRowsOf, ImpossibleOnesAreFaintAndSayWhy) {
    WhatIf tried;
    tried.ranks = 4;
    tried.microBatches = 4;
    tried.planTimes = false;
    std::vector<Alternative> rows;
    for (std::size_t i = 0; i < schedule_names.size(); ++i)
        rows.push_back(alternativeOf(static_cast<Schedule>(i), tried, Plan()));
    const QList<TextRow> texts = scheduleTextRows(rows, Schedule::OneFOneB);
    ASSERT_EQ(texts.size(), 12);
    EXPECT_TRUE(texts[1].strong);
    EXPECT_EQ(texts[1].cells[2], QStringLiteral("0 %"));
    const TextRow& dual = texts[static_cast<int>(Schedule::DualPipeV)];
    EXPECT_TRUE(dual.faint);
    EXPECT_TRUE(dual.tip.contains(QStringLiteral("Gradient accumulation steps to 8"))) << dual.tip.toStdString();
}

TEST(PipelineModelOf, WhatIsTriedLeavesThePlanUntilItIsApplied) {
    PlanModel plan;
    ASSERT_TRUE(plan.open(QStringLiteral("llama-2-70b-64xh100")));
    PipelineModel model(&plan);
    model.setActive(true);
    EXPECT_TRUE(model.isPlans());
    EXPECT_EQ(model.shown(), plan.numbers().pipeline);
    WhatIf tried = model.tried();
    tried.schedule = Schedule::ZbH1;
    tried.ranks = 4;
    model.tryOut(tried);
    EXPECT_FALSE(model.isPlans());
    EXPECT_EQ(plan.plan().layout.pp, 2);
    ASSERT_NE(model.shown(), nullptr) << model.problem().toStdString();
    EXPECT_EQ(model.shown()->schedule.ranks, 4);
    ASSERT_TRUE(QTest::qWaitFor([&model] { return model.rows().size() == 12 && !model.detailsPending(); }, 5000));
    EXPECT_GE(model.advice().size(), 4);  // layers, stages, micro-batches, balance
    model.applyToPlan();
    EXPECT_EQ(plan.plan().layout.pp, 4);
    EXPECT_EQ(plan.plan().layout.schedule, Schedule::ZbH1);
    EXPECT_TRUE(model.isPlans());
    plan.undoStack()->undo();
    EXPECT_EQ(plan.plan().layout.pp, 2);
    EXPECT_TRUE(model.isPlans());

    model.tryOut(tried);
    plan.setText(QStringLiteral("training.steps"), QStringLiteral("7"));
    EXPECT_EQ(model.tried(), tried) << "an edit elsewhere leaves what is tried";
    plan.setText(QStringLiteral("layout.accumulation"), QStringLiteral("32"));
    EXPECT_EQ(model.tried().microBatches, 32) << "the plan's pipeline is what was edited last";
    EXPECT_TRUE(model.isPlans());
}

TEST(LiveViewOf, OneFOneBKeepsOneLessOnEachRank) {
    PlanModel plan;
    PipelineModel model(&plan);
    model.setActive(true);
    WhatIf tried = model.tried();
    tried.schedule = Schedule::OneFOneB;
    tried.ranks = 4;
    tried.microBatches = 8;
    tried.planTimes = false;
    model.tryOut(tried);
    EXPECT_EQ(model.live().peak, (std::vector<double>{4, 3, 2, 1}));
    LiveView view;
    view.setCurves(model.live(), 4, QStringLiteral("p = 4"));
    EXPECT_EQ(view.accessibleDescription(), QStringLiteral("Rank 0 keeps the most: 4 micro-batches"));
    TableText table(QLatin1Char(','));
    view.writeTable(table);
    // Before the first forward there is nothing; after it one.
    EXPECT_TRUE(table.text().startsWith(QStringLiteral("rank,time,micro-batches alive\n0,0,")))
        << table.text().left(80).toStdString();
}

TEST(TimeSpanOf, ZoomKeepsTheTimeUnderTheMouseAndStaysInside) {
    TimeSpan span;
    span.setWhole(100);
    EXPECT_TRUE(span.isWhole());
    span.zoom(0.5, 20);
    EXPECT_DOUBLE_EQ(span.from(), 10);
    EXPECT_DOUBLE_EQ(span.to(), 60);
    span.pan(100);
    EXPECT_DOUBLE_EQ(span.to(), 100);
    EXPECT_DOUBLE_EQ(span.width(), 50);
    span.setWhole(60);
    EXPECT_DOUBLE_EQ(span.to(), 60);
    span.showWhole();
    EXPECT_TRUE(span.isWhole());
}

}  // namespace
}  // namespace plimsoll::ui
