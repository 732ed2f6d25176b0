// SPDX-License-Identifier: GPL-3.0-or-later
// The whole job: pick a model, pick GPUs, read the numbers, train with two real workers, see points, export.
#include <QFile>
#include <QListView>
#include <QPlainTextEdit>

#include "core/base/json.h"
#include "core/interop/deepspeed/deepspeed_export.h"
#include "core/interop/exports/export_target.h"
#include "core/plan/trainable.h"
#include "core/run/run_folder.h"
#include "core/run/run_store.h"
#include "tests/support/gui_fixture.h"
#include "ui/common/value_format.h"
#include "ui/export/export_page.h"
#include "ui/export/lint_card.h"
#include "ui/hardware/hardware_page.h"
#include "ui/pipeline/gantt.h"
#include "ui/plan/layout_page.h"
#include "ui/plan/model_page.h"
#include "ui/plots/line_plot.h"
#include "ui/run/watch_page.h"
#include "ui/waterline/waterline_data.h"
#include "ui/window/close_dialog.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, PickingModelAndGpusShowsTheCoresNumbers) {
    window_->showPage(PageId::Model);
    choose(the<ModelPage>()->presets(), "llama-7b");
    // transformers' LlamaForCausalLM of this size (tests/oracles/param_counts.json).
    EXPECT_TRUE(window_->waterline()->sizes().contains(QStringLiteral("6,738,415,616")));
    window_->showPage(PageId::Hardware);
    choose(the<HardwarePage>()->gpus(), "A100 SXM4 80GB");
    EXPECT_EQ(plan().cluster.gpu, "A100 SXM4 80GB");
    type("cluster.gpus_per_node", "4");
    EXPECT_EQ(plan().layout.dp, 4);
    EXPECT_EQ(plan().data.sequence_length, 2048) << "a plan to train the model, not the demo's";
    window_->plan()->setText(QStringLiteral("layout.zero_stage"), QStringLiteral("0"));

    const Result<MemoryEstimate> memory = estimate_memory(plan());
    ASSERT_TRUE(memory) << memory.error().message;
    EXPECT_EQ(window_->waterline()->headline(), verdictOf(*memory).headline);
    // bf16 with fp32 masters, without sharding: 16 bytes a parameter are 100 GiB before any activation.
    EXPECT_FALSE(memory->fits());
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Does not fit: ")));

    window_->focusField(QStringLiteral("layout.zero_stage"));
    auto* zero = qobject_cast<QComboBox*>(row(QStringLiteral("layout.zero_stage"))->editor());
    QTest::keyClick(zero, Qt::Key_End);
    EXPECT_EQ(plan().layout.zero_stage, 3);
    const MemoryEstimate sharded = *estimate_memory(plan());
    EXPECT_LT(sharded.fullest().total(), memory->fullest().total());
    EXPECT_EQ(window_->waterline()->headline(), verdictOf(sharded).headline);

    // The breakdown holds every term of the core, byte for byte.
    auto* layout = qobject_cast<LayoutPage*>(window_->pageWidget(PageId::Layout));
    ASSERT_NE(layout, nullptr);
    const QList<TextRow>& rows = layout->terms().rows();
    const std::vector<Term>& terms = sharded.fullest().terms;
    ASSERT_EQ(static_cast<std::size_t>(rows.size()), terms.size() + 1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
        const TextRow& shown = rows[static_cast<qsizetype>(i)];
        EXPECT_EQ(shown.cells[0].toStdString(), terms[i].name);
        EXPECT_TRUE(shown.tip.contains(countText(terms[i].bytes))) << terms[i].name;
        EXPECT_EQ(shown.cells[2].toStdString(), terms[i].formula);
        EXPECT_FALSE(shown.cells[3].isEmpty()) << terms[i].name;
    }
}

TEST_F(GuiTest, PipelineStagesDrawTheSimulatedTimeline) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    window_->showPage(PageId::Layout);
    type("layout.pp", "4");
    type("layout.accumulation", "8");
    ASSERT_TRUE(window_->plan()->isGood()) << window_->waterline()->headline().toStdString();
    const Timeline timeline = simulate_pipeline(plan())->timeline;
    EXPECT_TRUE(window_->waterline()->figures().contains(percentText(timeline.bubble)))
        << window_->waterline()->figures().toStdString();
    const Gantt* gantt = qobject_cast<LayoutPage*>(window_->pageWidget(PageId::Layout))->gantt();
    const TimedOp& op = timeline.ranks[2].front();
    const TimedOp* shown = gantt->opAt(gantt->cell(op).center());
    ASSERT_NE(shown, nullptr);
    EXPECT_EQ(shown->op, op.op);
    EXPECT_DOUBLE_EQ(shown->start, op.start);
}

TEST_F(GuiTest, TrainsTwentyStepsOnTwoWorkersAndShowsEveryPoint) {
    window_->showPage(PageId::Model);
    choose(the<ModelPage>()->presets(), "llama-tiny");
    type("training.steps", "20");
    ASSERT_EQ(plan().cluster.world_size(), 2);
    QTest::mouseClick(the<RunControls>()->train(), Qt::LeftButton);
    ASSERT_TRUE(wait([this] { return window_->run()->isOpen() || !the<Banner>()->isHidden(); }, 30'000));
    ASSERT_TRUE(window_->run()->isOpen()) << the<Banner>()->sentence().toStdString();
    EXPECT_EQ(window_->page(), PageId::Watch);

    const auto ended = [this] {
        const RunStatus status = window_->run()->state().status;
        return status == RunStatus::Finished || status == RunStatus::Failed || status == RunStatus::Stopped;
    };
    ASSERT_TRUE(wait(ended, 240'000));
    ASSERT_EQ(window_->run()->state().status, RunStatus::Finished) << window_->run()->state().reason;
    ASSERT_TRUE(
        wait([this] { return window_->run()->find(series::loss) && window_->run()->find(series::loss)->size() == 20; },
             10'000));
    const Pyramid& loss = *window_->run()->find(series::loss);
    // An untrained byte model knows nothing: ln(256) = 5.545 nats, less as it learns.
    EXPECT_NEAR(loss.value(0), 5.545, 0.25);
    EXPECT_LT(loss.value(19), loss.value(0) - 0.5);
    ASSERT_NE(window_->run()->find(series::step_time, 1), nullptr) << "the second worker recorded nothing";
    EXPECT_EQ(window_->run()->find(series::step_time, 1)->size(), 20U);

    LinePlot* plot = window_->watchPage()->plots().constFirst();
    ASSERT_FALSE(plot->content().lines.empty());
    EXPECT_DOUBLE_EQ(*plot->valueAt(0, static_cast<double>(loss.step(19))), loss.value(19));
    EXPECT_TRUE(the<RunControls>()->train()->isVisible());
}

TEST_F(GuiTest, ClosingTheWindowLeavesTheRunTrainingAndTheNextWindowFindsIt) {
    type("training.steps", "100000");
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    ASSERT_TRUE(wait([this] { return window_->run()->isLive(); }, 60'000)) << the<Banner>()->sentence().toStdString();
    ASSERT_TRUE(wait([this] { return window_->run()->step() >= 2; }, 120'000));
    EXPECT_FALSE(the<RunControls>()->train()->isVisible());
    EXPECT_TRUE(the<RunControls>()->stop()->isVisible());

    EXPECT_FALSE(window_->close());
    EXPECT_TRUE(window_->isVisible());
    const auto* dialog = window_->findChild<CloseDialog*>();
    ASSERT_NE(dialog, nullptr);
    EXPECT_TRUE(dialog->isVisible());
    QTest::mouseClick(dialog->closeButton(), Qt::LeftButton);
    EXPECT_FALSE(window_->isVisible());
    const QString runPath = window_->run()->runPath();
    const std::int64_t seen = window_->run()->step();
    window_.reset();

    const RunFolder folder = *RunFolder::open(runPath.toStdString());
    EXPECT_TRUE(folder.live());
    window_ = std::make_unique<MainWindow>();
    window_->begin();
    window_->show();
    EXPECT_EQ(window_->run()->runPath(), runPath);
    EXPECT_EQ(window_->page(), PageId::Watch);
    ASSERT_TRUE(wait([this, seen] { return window_->run()->step() > seen + 2; }, 60'000));
    // The history from the first step on.
    EXPECT_LE(window_->run()->find(series::loss)->step(0), 1U);

    QElapsedTimer timer;
    timer.start();
    QTest::mouseClick(the<RunControls>()->stop(), Qt::LeftButton);
    ASSERT_TRUE(wait([&folder] { return !folder.live(); }, 10'000));
    EXPECT_LT(timer.elapsed(), 3'000);
    ASSERT_TRUE(wait([this] { return window_->run()->state().status == RunStatus::Stopped; }, 5'000));
    EXPECT_TRUE(wait([this] { return the<RunControls>()->train()->isVisible(); }, 5'000));
}

TEST_F(GuiTest, TheCloseDialogCanStopTheRunOrBeLeftAndNeedNotAskAgain) {
    type("training.steps", "100000");
    QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
    ASSERT_TRUE(wait([this] { return window_->run()->step() >= 1; }, 120'000));
    const RunFolder folder = *RunFolder::open(window_->run()->runPath().toStdString());

    EXPECT_FALSE(window_->close());
    QTest::keyClick(window_->findChild<CloseDialog*>(), Qt::Key_Escape);
    ASSERT_TRUE(wait([this] { return window_->findChild<CloseDialog*>() == nullptr; }, 2'000));
    EXPECT_TRUE(window_->isVisible());

    CloseDialog::setWanted(false);
    EXPECT_TRUE(window_->close());
    EXPECT_TRUE(folder.live());
    CloseDialog::setWanted(true);

    window_->show();
    EXPECT_FALSE(window_->close());
    QTest::mouseClick(window_->findChild<CloseDialog*>()->stopButton(), Qt::LeftButton);
    EXPECT_FALSE(window_->isVisible());
    EXPECT_TRUE(wait([&folder] { return !folder.live(); }, 20'000));
    EXPECT_EQ(folder.state()->status, RunStatus::Stopped);
}

TEST_F(GuiTest, ExportsTheDeepSpeedConfigOfThePlanAsItIsNow) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    type("layout.accumulation", "16");
    QTest::keyClick(window_.get(), Qt::Key_E, Qt::ControlModifier);
    EXPECT_EQ(window_->page(), PageId::Export);
    const QString file = path("ds.json");
    ASSERT_TRUE(window_->exportPage()->saveTo(file));

    const Json written = *read_json(file.toStdString());
    EXPECT_EQ(written, export_deepspeed(plan())->json);
    EXPECT_EQ(written["train_micro_batch_size_per_gpu"], 1);
    EXPECT_EQ(written["gradient_accumulation_steps"], 16);
    EXPECT_EQ(written["train_batch_size"], 64);  // 4 ranks x 1 x 16
    EXPECT_EQ(written["zero_optimization"]["stage"], 2);
    EXPECT_EQ(written["bf16"]["enabled"], true);
    EXPECT_EQ(window_->exportPage()->text().toStdString(), written.dump(2) + "\n");
}

TEST_F(GuiTest, EveryToolIsListedAndItsTextFollowsThePlan) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->showPage(PageId::Export);
    ExportPage* page = window_->exportPage();
    ASSERT_EQ(page->targets()->model()->rowCount(), static_cast<int>(export_targets().size()));
    for (int at = 0; at < page->targets()->model()->rowCount(); ++at) {
        page->targets()->setCurrentIndex(page->targets()->model()->index(at, 0));
        const auto exported = export_plan(plan(), export_targets()[static_cast<std::size_t>(at)].name);
        ASSERT_TRUE(exported) << exported.error().message;
        EXPECT_EQ(page->text().toStdString(), exported->text);
    }
    const auto torchrun = std::find_if(export_targets().begin(), export_targets().end(),
                                       [](const ExportTarget& target) { return target.name == "torchrun"; });
    page->targets()->setCurrentIndex(
        page->targets()->model()->index(static_cast<int>(torchrun - export_targets().begin()), 0));
    EXPECT_TRUE(page->programs()->isVisible());
    page->programs()->setCurrentIndex(page->programs()->findData(QStringLiteral("megatron")));
    EXPECT_TRUE(page->text().contains(QStringLiteral("pretrain_gpt.py")));
    page->programs()->setCurrentIndex(0);
    page->targets()->setCurrentIndex(page->targets()->model()->index(4, 0));
    EXPECT_FALSE(page->programs()->isVisible());
    ASSERT_TRUE(page->text().contains(QStringLiteral("--micro-batch-size 1")));
    type("layout.micro_batch", "2");
    EXPECT_TRUE(page->text().contains(QStringLiteral("--micro-batch-size 2")));
    const QString file = path("megatron.sh");
    ASSERT_TRUE(page->saveTo(file));
    QFile saved(file);
    ASSERT_TRUE(saved.open(QIODevice::ReadOnly));
    EXPECT_EQ(QString::fromUtf8(saved.readAll()), page->text());
    EXPECT_FALSE(page->notes().isEmpty());
}

TEST_F(GuiTest, APastedDeepSpeedConfigIsCheckedOnThePlansRanks) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->showPage(PageId::Export);
    LintCard* lint = window_->exportPage()->lint();
    EXPECT_TRUE(lint->findings().isEmpty());
    lint->config()->setPlainText(QStringLiteral(R"({"train_batch_size": 10, "gradient_cliping": 1})"));
    EXPECT_TRUE(lint->findings().contains(QStringLiteral("10 does not divide over 4 ranks")))
        << lint->findings().toStdString();
    EXPECT_TRUE(lint->findings().contains(QStringLiteral("did you mean \"gradient_clipping\"?")));
    lint->config()->setPlainText(QStringLiteral("{\n  \"a\": }"));
    EXPECT_TRUE(lint->findings().contains(QStringLiteral("line 2")));
    EXPECT_FALSE(lint->open(path("none.json")));
}

TEST_F(GuiTest, APlanThatCannotBeTrainedHereSaysWhyAndOffersTheCure) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->plan()->usePreset(QStringLiteral("llama-tiny"));
    ASSERT_TRUE(window_->plan()->isGood());
    QTest::mouseClick(the<RunControls>()->train(), Qt::LeftButton);
    EXPECT_FALSE(the<Banner>()->isHidden());
    EXPECT_FALSE(the<Banner>()->sentence().isEmpty());
    EXPECT_TRUE(list_runs().empty());
    ASSERT_TRUE(the<Banner>()->action()->isVisible());
    QTest::mouseClick(the<Banner>()->action(), Qt::LeftButton);
    EXPECT_EQ(plan().cluster.gpu, "cpu");
    EXPECT_TRUE(window_->plan()->isGood());
    EXPECT_TRUE(require_trainable_here(plan()));
}

TEST_F(GuiTest, AnImpossiblePlanIsNotTrainedAndTheFieldIsShown) {
    type("layout.dp", "3");
    QTest::mouseClick(the<RunControls>()->train(), Qt::LeftButton);
    EXPECT_EQ(the<Banner>()->sentence(), window_->plan()->problems().front().sentence);
    EXPECT_TRUE(list_runs().empty());
    // The refusal goes with its reason.
    type("layout.dp", "2");
    EXPECT_TRUE(the<Banner>()->isHidden());
    type("layout.dp", "3");
    QTest::mouseClick(the<RunControls>()->train(), Qt::LeftButton);
    EXPECT_FALSE(the<Banner>()->isHidden());
    window_->showPage(PageId::Data);
    QTest::mouseClick(the<Banner>()->action(), Qt::LeftButton);
    EXPECT_NE(window_->page(), PageId::Data);
    // The window may go while the field that is wrong has the focus.
    window_.reset();
}

}  // namespace
}  // namespace plimsoll::ui
