// SPDX-License-Identifier: GPL-3.0-or-later
// No edit is lost: another plan asks first, names and the global batch follow, and no stale word stays.
#include <QFile>

#include "tests/support/gui_fixture.h"
#include "ui/lessons/lessons_page.h"
#include "ui/plan/layout_page.h"
#include "ui/plan/model_page.h"
#include "ui/widgets/card.h"
#include "ui/window/misfit_dialog.h"
#include "ui/window/unsaved_dialog.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, AnotherPlanAsksWhereEditsWouldBeLost) {
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    EXPECT_EQ(question(), nullptr) << "nothing was edited";
    type("training.steps", "77");
    window_->openPlan(QStringLiteral("cpu-demo"));
    ASSERT_NE(question(), nullptr);
    QTest::mouseClick(question()->cancelButton(), Qt::LeftButton);
    EXPECT_EQ(plan().training.steps, 77);

    window_->openPlan(QStringLiteral("cpu-demo"));
    QTest::mouseClick(question()->discardButton(), Qt::LeftButton);
    EXPECT_EQ(plan().training.steps, 300);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().training.steps, 77) << "a discarded plan can be brought back";
}

TEST_F(GuiTest, SavingFirstKeepsTheEditsInTheirFile) {
    window_->savePlan(path("mine.json"));
    type("training.steps", "42");
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    ASSERT_NE(question(), nullptr);
    QTest::mouseClick(question()->saveButton(), Qt::LeftButton);
    EXPECT_EQ(plan().cluster.world_size(), 64);
    window_->openPlan(path("mine.json"));
    EXPECT_EQ(question(), nullptr);
    EXPECT_EQ(plan().training.steps, 42);
}

TEST_F(GuiTest, ALessonAsksAsWell) {
    type("training.steps", "77");
    window_->showPage(PageId::Lessons);
    QTest::mouseClick(window_->lessonsPage()->openButton(), Qt::LeftButton);
    ASSERT_NE(question(), nullptr);
    EXPECT_EQ(plan().training.steps, 77);
    QTest::mouseClick(question()->discardButton(), Qt::LeftButton);
    EXPECT_EQ(plan(), window_->lessonsPage()->model()->lesson()->plan);
    EXPECT_TRUE(window_->plan()->path().isEmpty()) << "saving must not write over another plan's file";
}

TEST_F(GuiTest, AStartWithAnotherPlanKeepsTheDraftOfTheLastSession) {
    type("training.steps", "77");
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->begin(QStringLiteral("llama-2-70b-64xh100"));
    window_->show();
    EXPECT_TRUE(the<Banner>()->sentence().contains(QStringLiteral("unsaved plan of the last session")))
        << the<Banner>()->sentence().toStdString();
    QTest::mouseClick(the<Banner>()->action(), Qt::LeftButton);
    EXPECT_EQ(plan().training.steps, 77);
}

TEST_F(GuiTest, APlanWithoutAnEndingIsSavedAsJson) {
    window_->savePlan(path("a24"));
    EXPECT_TRUE(QFile::exists(path("a24.json")));
    EXPECT_FALSE(QFile::exists(path("a24")));
    EXPECT_EQ(window_->plan()->path(), path("a24.json"));
}

TEST_F(GuiTest, TheTitleFollowsTheModel) {
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    EXPECT_TRUE(window_->windowTitle().contains(QStringLiteral("70B"))) << window_->windowTitle().toStdString();
    window_->plan()->usePreset(QStringLiteral("qwen2.5-7b"));
    EXPECT_FALSE(window_->windowTitle().contains(QStringLiteral("70B"))) << window_->windowTitle().toStdString();
    EXPECT_TRUE(window_->windowTitle().contains(QStringLiteral("qwen2.5-7b"))) << window_->windowTitle().toStdString();
    type("cluster.nodes", "4");
    EXPECT_TRUE(window_->windowTitle().contains(QStringLiteral("32"))) << window_->windowTitle().toStdString();
}

TEST_F(GuiTest, TensorParallelismKeepsTheGlobalBatchOrSaysThatItDoesNot) {
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    const std::int64_t batch = plan().layout.global_batch(), tp = plan().layout.tp;
    type("layout.tp", QByteArray::number(static_cast<qlonglong>(tp / 2)).constData());
    EXPECT_EQ(plan().layout.global_batch(), batch);
    EXPECT_EQ(plan().layout.world_size(), 64);

    window_->plan()->undoStack()->undo();
    ASSERT_EQ(plan().layout.tp, tp);
    type("layout.accumulation", "1");
    const std::int64_t small = plan().layout.global_batch();
    type("layout.tp", "1");
    EXPECT_NE(plan().layout.global_batch(), small);
    EXPECT_TRUE(the<Banner>()->sentence().contains(QStringLiteral("global batch is")))
        << the<Banner>()->sentence().toStdString();
    QTest::mouseClick(the<Banner>()->action(), Qt::LeftButton);
    EXPECT_EQ(plan().layout.global_batch(), small) << "the notice's Undo";
}

TEST_F(GuiTest, ANumberTypedDigitByDigitCountsFromThePlanBefore) {
    window_->openPlan(QStringLiteral("cpu-demo"));
    const Plan before = plan();
    type("cluster.gpus_per_node", "16");
    EXPECT_EQ(plan().layout.dp, 16);
    EXPECT_EQ(plan().layout.accumulation, before.layout.accumulation);
    EXPECT_EQ(plan().layout.global_batch(), 8 * before.layout.global_batch());
}

TEST_F(GuiTest, TheHighlightedRowIsTheChosenOne) {
    window_->showPage(PageId::Model);
    choose(the<ModelPage>()->presets(), "llama-tiny");
    QTableView* view = the<ModelPage>()->presets()->table();
    const auto highlighted = [view] {
        const QModelIndexList rows = view->selectionModel()->selectedRows();
        return rows.isEmpty() ? QString() : rows.first().data(TextTable::NameRole).toString();
    };
    EXPECT_EQ(highlighted(), QStringLiteral("llama-tiny"));
    for (int i = 0; i < 3; ++i) QTest::keyClick(view, Qt::Key_Down);
    EXPECT_EQ(highlighted(), QStringLiteral("llama-tiny"));
    EXPECT_NE(view->currentIndex().data(TextTable::NameRole).toString(), QStringLiteral("llama-tiny"));
    QTest::keyClicks(the<ModelPage>()->presets()->search(), QStringLiteral("mixtral"));
    EXPECT_EQ(highlighted(), QString()) << "the chosen one is filtered out";
    the<ModelPage>()->presets()->search()->clear();
    EXPECT_EQ(highlighted(), QStringLiteral("llama-tiny"));
}

TEST_F(GuiTest, AnErrorGoesWithThePlanThatItWasAbout) {
    QFile file(path("garbage.json"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("garbage");
    file.close();
    window_->openPlan(path("garbage.json"));
    EXPECT_FALSE(the<Banner>()->isHidden());
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    EXPECT_TRUE(the<Banner>()->isHidden()) << the<Banner>()->sentence().toStdString();
}

TEST_F(GuiTest, AnImpossiblePlanPalesTheFiguresOfTheLastPossibleOne) {
    window_->openPlan(QStringLiteral("llama-2-70b-64xh100"));
    auto* layout = qobject_cast<LayoutPage*>(window_->pageWidget(PageId::Layout));
    EXPECT_TRUE(layout->staleCards().isEmpty());
    type("layout.tp", "7");
    EXPECT_EQ(layout->staleCards().size(), 4);
    type("layout.tp", "8");
    EXPECT_TRUE(layout->staleCards().isEmpty());
}

TEST_F(GuiTest, NoticesMoveNothingAndGoodNewsGoesByItself) {
    window_->showPage(PageId::Model);
    const QRect before = window_->pageWidget(PageId::Model)->geometry();
    window_->savePlan(path("mine.json"));
    QTest::qWait(20);
    ASSERT_FALSE(the<Banner>()->isHidden());
    EXPECT_EQ(window_->pageWidget(PageId::Model)->geometry(), before);
    EXPECT_TRUE(the<Banner>()->expiry().isActive());
    window_->openPlan(path("not-there.json"));
    EXPECT_FALSE(the<Banner>()->expiry().isActive()) << "an error waits for its reader";
}

TEST_F(GuiTest, ANewcomerGetsATrainingPlanOfTheModelAndCanTakeItBack) {
    window_->showPage(PageId::Model);
    choose(the<ModelPage>()->presets(), "llama-7b");
    EXPECT_EQ(plan().numerics.dtype, Dtype::Bf16);
    EXPECT_EQ(plan().data.sequence_length, 2048);
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Fits: ")))
        << window_->waterline()->headline().toStdString();
    EXPECT_TRUE(the<Banner>()->sentence().startsWith(QStringLiteral("Planned to train llama-7b")))
        << the<Banner>()->sentence().toStdString();
    window_->plan()->setText(QStringLiteral("cluster.gpu"), QStringLiteral("GeForce RTX 4090"));
    type("cluster.gpus_per_node", "1");
    EXPECT_EQ(plan().layout.world_size(), 1);
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Does not fit: ")));
    while (window_->plan()->undoStack()->canUndo()) window_->plan()->undoStack()->undo();
    EXPECT_EQ(plan().model.preset, "llama-tiny");
    EXPECT_EQ(plan().numerics.dtype, Dtype::Fp32);

    // Whoever has set something keeps it.
    type("layout.micro_batch", "4");
    window_->plan()->usePreset(QStringLiteral("llama-7b"));
    EXPECT_EQ(plan().layout.micro_batch, 4);
    EXPECT_EQ(plan().numerics.dtype, Dtype::Fp32);
}

TEST_F(GuiTest, TrainingAPlanThatDoesNotFitIsAskedFirst) {
    window_->plan()->setText(QStringLiteral("cluster.usable_gib"), QStringLiteral("0.01"));
    ASSERT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Does not fit: ")))
        << window_->waterline()->headline().toStdString();
    window_->train();
    ASSERT_NE(the<MisfitDialog>(), nullptr);
    EXPECT_FALSE(window_->run()->isOpen());
    QTest::mouseClick(the<MisfitDialog>()->remediesButton(), Qt::LeftButton);
    EXPECT_TRUE(window_->remedies() != nullptr);
    EXPECT_FALSE(window_->run()->isOpen());
}

}  // namespace
}  // namespace plimsoll::ui
