// SPDX-License-Identifier: GPL-3.0-or-later
// Editing in the real window: undo, wrong input, search, files.
#include <QFile>
#include <QListView>
#include <QScrollArea>
#include <QScrollBar>
#include <QTextBrowser>

#include "core/plan/plan_io.h"
#include "tests/support/gui_fixture.h"
#include "ui/plan/data_page.h"
#include "ui/plan/model_page.h"
#include "ui/waterline/waterline.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/search_field.h"
#include "ui/window/close_dialog.h"
#include "ui/window/help_dialog.h"
#include "ui/window/start_page.h"
#include "ui/window/top_bar.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, EachEditIsOneStepOfUndoFromAnyPage) {
    type("layout.micro_batch", "4");
    type("training.steps", "50");
    window_->showPage(PageId::Export);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().training.steps, 300);
    EXPECT_EQ(plan().layout.micro_batch, 4);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().layout.micro_batch, 8);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
    EXPECT_EQ(plan().layout.micro_batch, 4);
}

TEST_F(GuiTest, UndoInsideAFieldIsThePlansUndo) {
    type("training.steps", "50");
    window_->focusField(QStringLiteral("training.steps"));
    QTest::keyClick(row(QStringLiteral("training.steps"))->editor(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().training.steps, 300);
}

TEST_F(GuiTest, AnImpossibleEditShowsItsSentenceAtTheFieldAndInTheWaterline) {
    type("model.num_heads", "5");
    FieldRow* heads = row(QStringLiteral("model.num_heads"));
    const QList<FieldProblem> problems = window_->plan()->problems();
    ASSERT_FALSE(problems.isEmpty());
    EXPECT_EQ(window_->waterline()->headline(), problems.front().sentence);
    FieldRow* named = row(problems.front().key);
    ASSERT_NE(named, nullptr) << problems.front().key.toStdString();
    EXPECT_EQ(named->problem(), problems.front().sentence);

    window_->showPage(PageId::Data);
    QTest::mouseClick(button("Show the field that is wrong"), Qt::LeftButton);
    EXPECT_EQ(window_->page(), PageId::Model);
    EXPECT_TRUE(named->editor()->hasFocus());

    type("model.num_heads", "4");
    EXPECT_EQ(heads->problem(), QString());
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Fits: ")));
}

TEST_F(GuiTest, TheSearchJumpsToASettingAndRunsActions) {
    QTest::keyClick(window_.get(), Qt::Key_K, Qt::ControlModifier);
    SearchField* search = window_->topBar()->search();
    ASSERT_TRUE(search->hasFocus());
    QTest::keyClicks(search, QStringLiteral("warmup"));
    EXPECT_TRUE(search->list()->isVisible());
    QTest::keyClick(search, Qt::Key_Return);
    EXPECT_EQ(window_->page(), PageId::Recipe);
    EXPECT_TRUE(row(QStringLiteral("lr.warmup_steps"))->editor()->hasFocus());

    QTest::keyClick(window_.get(), Qt::Key_K, Qt::ControlModifier);
    QTest::keyClicks(search, QStringLiteral("model llama-7b"));
    QTest::keyClick(search, Qt::Key_Return);
    EXPECT_EQ(plan().model.preset, "llama-7b");
}

TEST_F(GuiTest, EveryFieldOfThePlanIsReachedByTheSearch) {
    for (const PlanField& field : planFields()) {
        if (field.key == QLatin1String("model.preset") || field.key == QLatin1String("cluster.gpu"))
            EXPECT_TRUE(window_->focusField(field.key)) << field.key.toStdString();
        else
            EXPECT_NE(row(field.key), nullptr) << field.key.toStdString();
    }
}

TEST_F(GuiTest, TheSearchShowsASettingWithoutUse) {
    window_->showPage(PageId::Recipe);
    FieldRow* momentum = row(QStringLiteral("optimizer.momentum"));
    EXPECT_FALSE(momentum->isVisible()) << "AdamW has none";
    EXPECT_TRUE(window_->focusField(QStringLiteral("optimizer.momentum")));
    EXPECT_TRUE(momentum->isVisible());
    EXPECT_TRUE(momentum->editor()->hasFocus());
}

TEST_F(GuiTest, ShortcutsGoToEachPage) {
    for (int i = 0; i < pageCount; ++i) {
        const auto page = static_cast<PageId>(i);
        const QKeyCombination keys = QKeySequence(pageShortcut(page))[0];
        QTest::keyClick(window_.get(), keys.key(), keys.keyboardModifiers());
        EXPECT_EQ(window_->page(), page) << pageShortcut(page).toStdString();
    }
}

TEST_F(GuiTest, HelpListsEveryShortcut) {
    type("training.steps", "50");
    QTest::keyClick(window_.get(), Qt::Key_F1);
    const auto* help = window_->findChild<HelpDialog*>();
    ASSERT_NE(help, nullptr);
    EXPECT_TRUE(help->isVisible());
    EXPECT_FALSE(help->isModal());
    const QString text = help->findChild<QTextBrowser*>()->toPlainText();
    EXPECT_TRUE(text.contains(QStringLiteral("Undo")));
    EXPECT_FALSE(text.contains(QStringLiteral("Undo:"))) << "what would be undone is no name of a shortcut";
    for (const char* shortcut : {"Ctrl+K", "Ctrl+E", "Ctrl+Return", "Ctrl+S", "Ctrl+Shift+Z", "Ctrl+7"})
        EXPECT_TRUE(text.contains(QLatin1String(shortcut))) << shortcut;
}

TEST_F(GuiTest, ASmallWindowFoldsItsPagesAndCutsNoName) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->resize(1024, 640);
    for (const PageId page : {PageId::Model, PageId::Hardware, PageId::Layout, PageId::Recipe, PageId::Data}) {
        window_->showPage(page);
        QTest::qWait(50);
        const auto* area = qobject_cast<QScrollArea*>(window_->pageWidget(page));
        ASSERT_NE(area, nullptr);
        EXPECT_EQ(area->horizontalScrollBar()->maximum(), 0) << pageName(page).toStdString();
    }
    window_->showPage(PageId::Model);
    QTest::qWait(50);
    const QTableView* presets = the<ModelPage>()->presets()->table();
    EXPECT_GE(presets->columnWidth(0), presets->fontMetrics().horizontalAdvance(QStringLiteral("mixtral-8x7b")) + 16);
    const bool hidden = presets->isColumnHidden(4);
    window_->resize(1440, 900);
    QTest::qWait(50);
    EXPECT_FALSE(presets->isColumnHidden(4)) << "hidden at 1024: " << hidden;
}

TEST_F(GuiTest, TwoClicksFromTheFirstWindowSayThatLlama7bFitsOnFourA100) {
    ASSERT_EQ(window_->page(), PageId::Start);
    QTest::mouseClick(the<StartPage>()->fitButton(), Qt::LeftButton);
    ASSERT_EQ(window_->page(), PageId::Model);
    choose(the<ModelPage>()->presets(), "llama-7b");
    EXPECT_EQ(plan().cluster.gpu, "A100 SXM4 80GB");
    EXPECT_EQ(plan().cluster.gpus_per_node * plan().cluster.nodes, 4);
    EXPECT_TRUE(window_->waterline()->isVisible());
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Fits: ")))
        << window_->waterline()->headline().toStdString();
}

TEST_F(GuiTest, InALowWindowTheWaterlineLeavesThePageItsRoom) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->showPage(PageId::Layout);
    window_->resize(1024, 640);
    QTest::qWait(50);
    const Waterline* waterline = window_->waterline();
    EXPECT_LE(waterline->height(), 640 * 22 / 100) << "a fifth of the window, not a quarter";
    const auto* headline = waterline->findChildren<QLabel*>().value(0);
    ASSERT_NE(headline, nullptr);
    EXPECT_TRUE(headline->toolTip().contains(QStringLiteral("6,738,415,616"))) << "the sizes are a hover away";
    EXPECT_FALSE(waterline->detail().isEmpty());
    window_->resize(1440, 900);
    QTest::qWait(50);
    EXPECT_TRUE(headline->toolTip().isEmpty());
}

TEST_F(GuiTest, ThePlansLineAtTheTopIsWholeInItsTooltip) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->resize(1024, 640);
    const ElidedLabel* summary = window_->topBar()->summary();
    EXPECT_TRUE(summary->text().contains(QStringLiteral("A100 SXM4 80GB")));
    EXPECT_TRUE(summary->toolTip().startsWith(summary->text().toHtmlEscaped())) << summary->toolTip().toStdString();
}

TEST_F(GuiTest, TheSearchTurnsTheQuestionBeforeClosingOffAndOn) {
    for (const bool wanted : {false, true}) {
        QTest::keyClick(window_.get(), Qt::Key_K, Qt::ControlModifier);
        SearchField* search = window_->topBar()->search();
        QTest::keyClicks(search, QStringLiteral("ask before closing"));
        QTest::keyClick(search, Qt::Key_Return);
        EXPECT_EQ(CloseDialog::wanted(), wanted);
    }
}

TEST_F(GuiTest, SavedPlansAreReadBackAndWrongFilesLeaveThePlanAlone) {
    type("training.steps", "42");
    window_->savePlan(path("mine.json"));
    ASSERT_TRUE(QFile::exists(path("mine.json")));
    type("training.steps", "43");
    openPlan(path("mine.json"));
    EXPECT_EQ(plan().training.steps, 42);

    QFile file(path("wrong.json"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("{\"plimsoll\": 1, \"layout\": {\"zero_stage\": 7}}");
    file.close();
    openPlan(path("wrong.json"));
    EXPECT_TRUE(the<Banner>()->sentence().contains(QStringLiteral("zero_stage")))
        << the<Banner>()->sentence().toStdString();
    EXPECT_EQ(plan().training.steps, 42);
}

TEST_F(GuiTest, AConfigOfHuggingFaceBecomesTheModel) {
    QFile file(path("config.json"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                   "intermediate_size": 11008, "vocab_size": 32000, "max_position_embeddings": 2048})");
    file.close();
    the<ModelPage>()->importConfig(path("config.json"));
    EXPECT_TRUE(window_->waterline()->sizes().contains(QStringLiteral("6,738,415,616")))
        << the<Banner>()->sentence().toStdString();
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(R"({"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8.0}})");
    file.close();
    the<ModelPage>()->importConfig(path("config.json"));
    EXPECT_TRUE(the<Banner>()->sentence().contains(QStringLiteral("rope_scaling is of type llama3")))
        << the<Banner>()->sentence().toStdString();
    the<ModelPage>()->importConfig(path("not-there.json"));
    EXPECT_FALSE(the<Banner>()->isHidden());
}

TEST_F(GuiTest, TheDataPageCountsTheTextAndShowsHowItBegins) {
    QFile file(path("text.txt"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(QByteArray("Call me Ishmael. ").repeated(600));  // 10,200 bytes
    file.close();
    window_->plan()->setText(QStringLiteral("data.path"), path("text.txt"));
    window_->plan()->setText(QStringLiteral("data.validation_fraction"), QStringLiteral("0"));
    window_->showPage(PageId::Data);
    auto* data = qobject_cast<DataPage*>(window_->pageWidget(PageId::Data));
    ASSERT_TRUE(wait([data] { return !data->preview()->isLoading() && data->preview()->facts().bytes > 0; }, 10'000));
    EXPECT_EQ(data->preview()->facts().bytes, 10'200);
    EXPECT_TRUE(data->preview()->facts().beginning.startsWith(QStringLiteral("Call me Ishmael.")));
}

}  // namespace
}  // namespace plimsoll::ui
