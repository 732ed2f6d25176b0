// SPDX-License-Identifier: GPL-3.0-or-later
// The Doctor page: findings of the plan and of a run, applied by one click, undone by Ctrl+Z.
#include <QUndoStack>

#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "core/telemetry/writer.h"
#include "tests/support/gui_fixture.h"
#include "ui/doctor/doctor_page.h"
#include "ui/doctor/finding_card.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, TheDoctorFindsWhatIsWrongWithThePlanAndOneClickChangesIt) {
    openPlan(QStringLiteral("llama-7b-4xa100"));
    window_->plan()->setText(QStringLiteral("layout.zero_stage"), QStringLiteral("0"));
    window_->showPage(PageId::Doctor);
    DoctorPage* page = window_->doctorPage();
    const QString kind = QStringLiteral("does-not-fit");
    ASSERT_TRUE(wait([&] { return page->card(kind) != nullptr; }, 20'000)) << page->summary().toStdString();
    EXPECT_TRUE(page->summary().startsWith(QStringLiteral("1 error"))) << page->summary().toStdString();
    EXPECT_EQ(page->cards().constFirst()->finding().kind, "does-not-fit") << "worst first";
    EXPECT_TRUE(page->checklist().contains(QStringLiteral("Each rank's memory holds its part")));

    const Plan before = plan();
    const int steps = window_->plan()->undoStack()->count();
    const Finding finding = page->card(kind)->finding();
    QPushButton* apply = page->card(kind)->applyButton(0);
    ASSERT_NE(apply, nullptr);
    ASSERT_TRUE(apply->isEnabled());
    QTest::mouseClick(apply, Qt::LeftButton);
    EXPECT_EQ(plan(), *with_settings(before, finding.changes[0].settings));
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    EXPECT_TRUE(wait([&] { return page->card(kind) == nullptr && !page->model()->isExamining(); }, 20'000));
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan(), before);
    EXPECT_TRUE(wait([&] { return page->card(kind) != nullptr; }, 20'000));
}

TEST_F(GuiTest, TheDoctorLooksAtTheRunThatIsOpen) {
    DoctorPage* page = window_->doctorPage();
    window_->showPage(PageId::Doctor);
    EXPECT_EQ(page->subject()->count(), 1) << "no run is open";

    Plan run_plan = plan();
    run_plan.data.path = path("corpus.txt").toStdString();
    const auto run = RunFolder::create(path("run").toStdString(), run_plan, false);
    ASSERT_TRUE(run) << run.error().message;
    {
        auto writer = TelemetryWriter::open(run->telemetry_path(0));
        ASSERT_TRUE(writer);
        for (std::uint64_t step = 1; step <= 50; ++step)
            ASSERT_TRUE(writer->points(
                step, 1000.0 + static_cast<double>(step),
                {{series::loss, 5.0}, {series::lr, 1e-3}, {series::memory_peak, 1e6}, {series::memory, 1e6}}));
        ASSERT_TRUE(writer->event({40, 1040, EventKind::Nonfinite, "Step 40: the loss is nan",
                                   Json{{"layer", "2"}, {"tensor", "the output of layer 2"}, {"pass", "forward"}}}));
    }
    RunState state;
    state.status = RunStatus::Finished;
    ASSERT_TRUE(run->write_state(state));
    window_->run()->open(path("run"));
    ASSERT_TRUE(wait([&] { return page->subject()->count() == 2; }, 10'000));
    page->subject()->setFocus();
    QTest::keyClick(page->subject(), Qt::Key_End);
    ASSERT_TRUE(wait([&] { return page->card(QStringLiteral("nonfinite-steps")) != nullptr; }, 20'000));
    const Finding& finding = page->card(QStringLiteral("nonfinite-steps"))->finding();
    EXPECT_NE(finding.evidence[0].find("layer 2"), std::string::npos);
    // Its changes go into the plan.
    QPushButton* apply = page->card(QStringLiteral("nonfinite-steps"))->applyButton(0);
    ASSERT_NE(apply, nullptr);
    const double rate = plan().optimizer.lr;
    QTest::mouseClick(apply, Qt::LeftButton);
    EXPECT_DOUBLE_EQ(plan().optimizer.lr, rate / 2);
    // Of another model's plan they would be nonsense: the run's own becomes the plan.
    openPlan(QStringLiteral("llama-7b-4xa100"));
    apply = page->card(QStringLiteral("nonfinite-steps"))->applyButton(0);
    ASSERT_TRUE(apply->isEnabled());
    QTest::mouseClick(apply, Qt::LeftButton);
    EXPECT_EQ(plan().model, run_plan.model);
    EXPECT_DOUBLE_EQ(plan().optimizer.lr, run_plan.optimizer.lr / 2);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan().model.preset, "llama-7b");
}

TEST_F(GuiTest, TheDoctorBeginsWithAFailedRunThatIsOpen) {
    const auto run = RunFolder::create(path("run").toStdString(), plan(), false);
    ASSERT_TRUE(run) << run.error().message;
    RunState state;
    state.status = RunStatus::Failed;
    state.started = 1000;
    state.ended = 1001;
    state.reason = "rank 1 ended with exit code 1";
    ASSERT_TRUE(run->write_state(state));
    window_->run()->open(path("run"));
    ASSERT_TRUE(wait([&] { return window_->run()->state().status == RunStatus::Failed; }, 10'000));
    window_->showPage(PageId::Doctor);
    EXPECT_EQ(window_->doctorPage()->model()->subject(), DoctorModel::Subject::Run);
    // Whoever goes back to the plan stays there.
    window_->doctorPage()->model()->choose(DoctorModel::Subject::Plan);
    window_->showPage(PageId::Model);
    window_->showPage(PageId::Doctor);
    EXPECT_EQ(window_->doctorPage()->model()->subject(), DoctorModel::Subject::Plan);
}

TEST_F(GuiTest, AnImpossiblePlanIsNoReasonForTheDoctorToEnd) {
    window_->showPage(PageId::Doctor);
    DoctorPage* page = window_->doctorPage();
    window_->plan()->setText(QStringLiteral("layout.accumulation"), QStringLiteral("1"));
    window_->plan()->setText(QStringLiteral("model.num_heads"), QStringLiteral("7"));
    ASSERT_FALSE(window_->plan()->isGood());
    EXPECT_TRUE(wait([&] { return page->card(QStringLiteral("impossible")) != nullptr; }, 20'000));
}

}  // namespace
}  // namespace plimsoll::ui
