// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/gantt.h"

#include <gtest/gtest.h>

#include <QImage>
#include <QTest>

#include "ui/plan/layout_sentences.h"
#include "ui/plan/plan_model.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {
namespace {

std::shared_ptr<const Pipeline> pipeline(int ranks, int microBatches, double send = 0) {
    return std::make_shared<const Pipeline>(
        *simulate_pipeline(Schedule::OneFOneB, {ranks, microBatches}, StageTimes::uniform(ranks, 1, 1, 1, send)));
}

TEST(GanttView, CellsLieWhereTheSimulationPutsThem) {
    Gantt gantt;
    gantt.resize(900, 200);
    const auto shown = pipeline(4, 8);
    const Timeline& timeline = shown->timeline;
    gantt.setPipeline(shown);
    const TimedOp& last = timeline.ranks[0].back();
    const QRectF first = gantt.cell(timeline.ranks[0].front());
    const double unit = first.width();  // a forward takes 1
    EXPECT_NEAR(gantt.cell(last).right() - first.left(), unit * timeline.makespan, 1e-6);
    EXPECT_NEAR(gantt.cell(last).width(), 2 * unit, 1e-6);
    EXPECT_EQ(gantt.opAt(gantt.cell(last).center())->op.micro_batch, 7);
    // Stage 3 cannot begin before three forwards have passed.
    EXPECT_EQ(gantt.opAt(QPointF(first.left() + unit, gantt.cell(timeline.ranks[3].front()).center().y())), nullptr);
}

TEST(GanttView, ForwardAndBackwardHaveTheirColoursAndTheBubbleNeither) {
    Gantt gantt;
    gantt.resize(900, 200);
    const auto shown = pipeline(4, 8);
    const Timeline& timeline = shown->timeline;
    gantt.setPipeline(shown);
    const QImage image = gantt.grab().toImage();
    const Theme& theme = Theme::of(gantt.palette());
    // Micro-batch 3 has the full shade.
    const auto colour = [&](OpKind kind) {
        for (const TimedOp& op : timeline.ranks[3])
            if (op.op.kind == kind && op.op.micro_batch == 3)
                return image.pixelColor((gantt.cell(op).topLeft() + QPointF(3, 3)).toPoint());
        return QColor();
    };
    EXPECT_EQ(colour(OpKind::Forward), theme.category[0]);
    EXPECT_EQ(colour(OpKind::Backward), theme.category[2]);
}

TEST(GanttView, TheChainOfAnOperationIsWalkedByMouseAndKeys) {
    Gantt gantt;
    gantt.resize(900, 200);
    const auto shown = pipeline(4, 8, 0.5);
    gantt.setPipeline(shown);
    gantt.setZoomable(true);
    gantt.show();
    ASSERT_TRUE(QTest::qWaitForWindowExposed(&gantt));
    // The first forward of the last rank waited for those of all ranks before it.
    QTest::mouseMove(&gantt, gantt.cell(shown->timeline.ranks[3].front()).center().toPoint());
    EXPECT_EQ(gantt.chain(), (std::vector<OpPlace>{{3, 0}, {2, 0}, {1, 0}, {0, 0}}));
    QTest::keyClick(&gantt, Qt::Key_Right, Qt::ShiftModifier);
    EXPECT_EQ(gantt.chain().front(), (OpPlace{3, 1}));
    QTest::keyClick(&gantt, Qt::Key_Up, Qt::ShiftModifier);
    EXPECT_EQ(gantt.chain().front().rank, 2);
}

TEST(GanttView, ZoomShowsLessAndDoubleClickShowsAll) {
    Gantt gantt;
    gantt.resize(900, 200);
    const auto shown = pipeline(4, 8);
    gantt.setPipeline(shown);
    gantt.setZoomable(true);
    const double before = gantt.cell(shown->timeline.ranks[0].front()).width();
    QTest::keyClick(&gantt, Qt::Key_Plus);
    EXPECT_NEAR(gantt.cell(shown->timeline.ranks[0].front()).width(), before * 1.25, 1e-6);
    QTest::mouseDClick(&gantt, Qt::LeftButton, {}, gantt.rect().center());
    EXPECT_NEAR(gantt.cell(shown->timeline.ranks[0].front()).width(), before, 1e-6);
}

TEST(GanttView, OperationsUnderAPixelAreMergedByColumn) {
    Gantt gantt;
    gantt.resize(300, 100);
    const auto shown = pipeline(2, 600);
    gantt.setPipeline(shown);
    const QImage image = gantt.grab().toImage();
    const Theme& theme = Theme::of(gantt.palette());
    const QColor middle = image.pixelColor(gantt.plotArea().center().toPoint().x(), 10);
    // A third forward, two thirds backward, of all shades: neither of them, and no bubble.
    for (const QColor& colour : {theme.category[0], theme.category[2], idleColour(theme)}) EXPECT_NE(middle, colour);
    EXPECT_LT(middle.red(), 140);
    EXPECT_GT(middle.green(), 100);
}

TEST(GanttView, ManyStagesStillFitTheScreen) {
    Gantt gantt;
    gantt.setPipeline(pipeline(64, 128));
    EXPECT_LE(gantt.sizeHint().height(), 300);
}

TEST(PipelineWordsOf, BubbleStandsBesideTheClosedForm) {
    PlanModel model;
    ASSERT_TRUE(model.open(QStringLiteral("llama-2-70b-64xh100")));
    ASSERT_TRUE(model.isGood());
    const QString words = pipelineWords(model.plan(), model.numbers());
    // (p - 1) / (m + p - 1) with 2 stages and 64 micro-batches: 1 / 65.
    EXPECT_TRUE(words.contains(QStringLiteral("= 1.54 %"))) << words.toStdString();
    ASSERT_TRUE(model.numbers().pipeline != nullptr);
    EXPECT_GT(model.numbers().pipeline->timeline.bubble, 0);
}

}  // namespace
}  // namespace plimsoll::ui
