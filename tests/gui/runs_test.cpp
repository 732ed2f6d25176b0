// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of a run after it ended: resume, more steps, a fork, deletion, its log; with real workers.
#include <QButtonGroup>
#include <QComboBox>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>

#include "core/run/run_folder.h"
#include "tests/support/gui_fixture.h"
#include "ui/plan/plan_tables.h"
#include "ui/run/checkpoint_card.h"
#include "ui/run/log_page.h"
#include "ui/run/more_steps_dialog.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_notes_card.h"
#include "ui/run/runs_page.h"
#include "ui/run/watch_page.h"
#include "ui/widgets/fact_table.h"

namespace plimsoll::ui {
namespace {

class RunsTest : public GuiTest {
protected:
    bool ended() {
        return wait(
            [this] {
                return window_->run()->isOpen() && !isUnderWay(*window_->run()) && window_->run()->state().ended > 0;
            },
            240'000);
    }
    /// A run of the demo that was stopped after some steps.
    void trainAndStop() {
        type("training.steps", "100000");
        window_->train();
        ASSERT_TRUE(wait([this] { return window_->run()->step() >= 2; }, 120'000))
            << the<Banner>()->sentence().toStdString();
        ASSERT_TRUE(window_->run()->requestStop());
        ASSERT_TRUE(ended());
        ASSERT_EQ(window_->run()->state().status, RunStatus::Stopped) << window_->run()->state().reason;
    }
};

TEST_F(RunsTest, AStoppedRunIsResumedFromTheWindow) {
    trainAndStop();
    const QString path = window_->run()->runPath();
    const std::int64_t step = window_->run()->step();
    window_->showPage(PageId::Watch);
    ASSERT_TRUE(wait([this] { return window_->watchPage()->resumeButton()->isVisible(); }, 5'000));
    QTest::mouseClick(window_->watchPage()->resumeButton(), Qt::LeftButton);
    ASSERT_TRUE(wait([this, step] { return window_->run()->isLive() && window_->run()->step() > step; }, 120'000))
        << the<Banner>()->sentence().toStdString();
    EXPECT_EQ(window_->run()->runPath(), path) << "the same run, no new one";
    EXPECT_FALSE(window_->watchPage()->resumeButton()->isVisible());
}

TEST_F(RunsTest, AFinishedRunGetsMoreStepsAtTheRateThatWasReached) {
    type("training.steps", "6");
    type("lr.warmup_steps", "2");
    window_->train();
    ASSERT_TRUE(ended()) << the<Banner>()->sentence().toStdString();
    ASSERT_EQ(window_->run()->state().status, RunStatus::Finished) << window_->run()->state().reason;
    window_->showPage(PageId::Watch);
    EXPECT_FALSE(window_->watchPage()->resumeButton()->isVisible()) << "all steps are done";
    ASSERT_TRUE(wait([this] { return window_->watchPage()->moreStepsButton()->isVisible(); }, 5'000));
    QTest::mouseClick(window_->watchPage()->moreStepsButton(), Qt::LeftButton);
    auto* dialog = the<MoreStepsDialog>();
    ASSERT_NE(dialog, nullptr);
    dialog->steps()->setText(QStringLiteral("5"));
    EXPECT_FALSE(dialog->goButton()->isEnabled()) << "that is less than it had";
    dialog->steps()->setText(QStringLiteral("9"));
    ASSERT_TRUE(dialog->goButton()->isEnabled());
    EXPECT_EQ(dialog->way(), LrExtension::Constant);
    QTest::mouseClick(dialog->goButton(), Qt::LeftButton);
    ASSERT_TRUE(wait([this] { return window_->run()->step() == 9 && !isUnderWay(*window_->run()); }, 120'000))
        << the<Banner>()->sentence().toStdString();
    const Pyramid& rate = *window_->run()->find(series::lr);
    EXPECT_NEAR(rate.value(rate.size() - 1), rate.value(5), 1e-12) << "constant behind step 6";
}

TEST_F(RunsTest, TheTableKeepsNotesDeletesWithUndoAndForks) {
    trainAndStop();
    const QString path = window_->run()->runPath();
    window_->showPage(PageId::Runs);
    RunsPage* page = window_->runsPage();
    ASSERT_TRUE(wait([page, path] { return page->chosen() == path; }, 10'000));
    EXPECT_TRUE(wait([page] { return page->resumeButton()->isEnabled(); }, 10'000));

    page->notes()->title()->setText(QStringLiteral("my first"));
    page->notes()->tags()->setText(QStringLiteral("demo, try"));
    QTest::keyClick(page->notes()->tags(), Qt::Key_Return);
    ASSERT_TRUE(
        wait([page] { return page->table()->model()->index(0, 0).data().toString() == QStringLiteral("my first"); },
             10'000));

    page->search()->setText(QStringLiteral("no such run"));
    EXPECT_EQ(page->table()->model()->rowCount(), 0);
    page->search()->clear();
    page->choose(path);

    CheckpointCard* card = page->checkpoints();
    ASSERT_TRUE(wait([card] { return !card->model()->checkpoints().empty(); }, 10'000));
    ASSERT_TRUE(card->forkButton()->isEnabled());
    window_->plan()->openNew(plan(), QStringLiteral("no edits to lose"));
    QTest::mouseClick(card->forkButton(), Qt::LeftButton);
    EXPECT_EQ(plan().model.weights, card->model()->checkpoints().front().path.string());
    EXPECT_TRUE(window_->plan()->path().isEmpty());
    EXPECT_TRUE(window_->plan()->isGood()) << window_->waterline()->headline().toStdString();

    window_->showPage(PageId::Runs);
    page->choose(path);
    QTest::mouseClick(page->deleteButton(), Qt::LeftButton);
    EXPECT_FALSE(QFile::exists(path));
    ASSERT_TRUE(wait([page] { return page->table()->model()->rowCount() == 0; }, 10'000));
    EXPECT_TRUE(page->trashButton()->isVisible());
    QTest::mouseClick(the<Banner>()->action(), Qt::LeftButton);
    EXPECT_TRUE(QFile::exists(path + QStringLiteral("/run.json")));
    ASSERT_TRUE(wait([page] { return page->table()->model()->rowCount() == 1; }, 10'000));
}

TEST_F(RunsTest, ACheckpointIsExportedForTransformers) {
    trainAndStop();
    window_->showPage(PageId::Runs);
    CheckpointModel* model = window_->runsPage()->checkpoints()->model();
    ASSERT_TRUE(wait([model] { return !model->checkpoints().empty(); }, 10'000));
    model->exportTo(0, CheckpointExport::HuggingFace, path("out"));
    ASSERT_TRUE(wait([model] { return !model->isExporting(); }, 60'000));
    EXPECT_TRUE(QFile::exists(path("out/model.safetensors"))) << the<Banner>()->sentence().toStdString();
    EXPECT_TRUE(QFile::exists(path("out/config.json")));
    EXPECT_TRUE(the<Banner>()->sentence().contains(QStringLiteral("Hugging Face")));
    model->exportTo(0, CheckpointExport::Peft, path("adapter"));
    ASSERT_TRUE(wait([model] { return !model->isExporting(); }, 60'000));
    EXPECT_FALSE(QFile::exists(path("adapter"))) << "the run trained no adapter";
    EXPECT_TRUE(the<Banner>()->property("tone").toString() == QStringLiteral("bad"));
}

TEST_F(RunsTest, TheLogsAreShownSearchedAndCopied) {
    trainAndStop();
    window_->showPage(PageId::Logs);
    LogPage* page = window_->logPage();
    ASSERT_GE(page->picker()->count(), 3) << "supervisor, two ranks and the store";
    QFile log(QString::fromStdString(RunLayout(window_->run()->runPath().toStdString()).log(0).string()));
    ASSERT_TRUE(log.open(QIODevice::Append));
    log.write("needle one\nneedle two\n");
    log.close();
    ASSERT_TRUE(wait([page] { return page->view()->toPlainText().contains(QStringLiteral("needle two")); }, 10'000));
    page->search()->setText(QStringLiteral("needle"));
    EXPECT_EQ(page->hits()->text(), QStringLiteral("2 hits"));
    QTest::keyClick(page->search(), Qt::Key_Return);
    EXPECT_EQ(page->view()->textCursor().selectedText(), QStringLiteral("needle"));
    page->search()->setText(QStringLiteral("haystack"));
    EXPECT_EQ(page->hits()->text(), QStringLiteral("not found"));
}

TEST_F(RunsTest, TheWaterlineOfWatchIsTheRunsOwn) {
    trainAndStop();
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->showPage(PageId::Layout);
    ASSERT_EQ(plan().cluster.world_size(), 64);
    window_->plan()->setText(QStringLiteral("cluster.usable_gib"), QStringLiteral("4"));
    ASSERT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Does not fit")))
        << window_->waterline()->headline().toStdString();
    window_->showPage(PageId::Watch);
    EXPECT_TRUE(window_->waterline()->headline().contains(window_->run()->runName()));
    EXPECT_TRUE(window_->waterline()->headline().contains(QStringLiteral("Fits: ")))
        << window_->waterline()->headline().toStdString();
    window_->showPage(PageId::Model);
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Does not fit")));
}

}  // namespace
}  // namespace plimsoll::ui
