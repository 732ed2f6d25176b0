// SPDX-License-Identifier: GPL-3.0-or-later
// What one edit of the plan may cost, in operations and not in time.
#include <QSignalSpy>

#include "core/plan/settings.h"
#include "tests/support/gui_fixture.h"
#include "ui/plan/plan_numbers.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, AnEditIsComputedOnceAndPaintedOnceOnEveryPage) {
    window_->resize(1440, 900);
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    for (const PageId page : {PageId::Model, PageId::Layout, PageId::Recipe, PageId::Export, PageId::Watch}) {
        SCOPED_TRACE(pageName(page).toStdString());
        window_->showPage(page);
        QTest::qWait(200);
        QSignalSpy changes(window_->plan(), &PlanModel::changed);
        Paints paints(window_->waterline()->bars());
        window_->plan()->setText(QStringLiteral("layout.micro_batch"), QStringLiteral("2"));
        window_->plan()->setText(QStringLiteral("layout.micro_batch"), QStringLiteral("1"));
        EXPECT_EQ(changes.count(), 2) << "the numbers are computed once an edit";
        QTest::qWait(200);
        EXPECT_EQ(paints.count, 1) << "edits of one turn are painted together";
        window_->plan()->endEdit();
    }
}

TEST_F(GuiTest, AnEditSimulatesNoPipelineOfMoreOperationsThanAreDrawn) {
    openPlan(QStringLiteral("llama-2-70b-64xh100"));
    ASSERT_TRUE(computeNumbers(plan()).pipeline);
    const Result<Plan> huge = with_settings(plan(), {"layout.pp=8", "layout.dp=8", "layout.tp=1",
                                                     "layout.sequence_parallel=false", "layout.accumulation=50000"});
    ASSERT_TRUE(huge) << huge.error().message;
    const PlanNumbers numbers = computeNumbers(*huge);
    EXPECT_FALSE(numbers.pipeline);
    EXPECT_TRUE(numbers.memory);
}

}  // namespace
}  // namespace plimsoll::ui
