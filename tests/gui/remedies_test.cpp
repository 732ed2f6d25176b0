// SPDX-License-Identifier: GPL-3.0-or-later
// From "does not fit" to a plan that fits: why, the changes, the set, undo; the memory before and after.
#include <QUndoStack>

#include "core/plan/plan_io.h"
#include "core/plan/settings.h"
#include "tests/support/gui_fixture.h"
#include "ui/plan/layout_page.h"
#include "ui/waterline/remedies_panel.h"

namespace plimsoll::ui {
namespace {

class RemediesTest : public GuiTest {
protected:
    void SetUp() override {
        GuiTest::SetUp();
        window_->resize(1280, 800);
        openPlan(QStringLiteral("llama-7b-4xa100"));
        type("layout.zero_stage", "0");
        type("layout.micro_batch", "4");
        ASSERT_FALSE(window_->plan()->numbers().memory->fits());
    }

    /// By the words under the verdict; then the search has run.
    void open() {
        QTest::mouseClick(window_->waterline()->why(), Qt::LeftButton);
        ASSERT_TRUE(window_->remedies()->isVisible());
        ASSERT_TRUE(wait([this] { return window_->remedies()->model()->remedies() != nullptr; }, 5000));
    }

    Bytes fullest() const { return window_->plan()->numbers().memory->fullest().total(); }

    /// Zero stage is a list, not a line.
    void type(const char* key, const char* text) {
        window_->plan()->setText(QString::fromLatin1(key), QString::fromLatin1(text));
        window_->plan()->endEdit();
    }
};

TEST_F(RemediesTest, OneClickAppliesAChangeAndUndoTakesItBack) {
    open();
    RemediesPanel* panel = window_->remedies();
    EXPECT_TRUE(panel->why().contains(QStringLiteral("6,738,415,616"))) << panel->why().toStdString();
    const Remedies found = *panel->model()->remedies();
    ASSERT_GE(panel->table()->model()->rowCount(), 5);
    ASSERT_EQ(panel->table()->model()->rowCount(), static_cast<int>(found.changes.size()));

    const Plan before = plan();
    const Bytes was = fullest();
    const int steps = window_->plan()->undoStack()->count();
    const QModelIndex apply = panel->table()->model()->index(0, remedyApplyColumn);
    QTest::mouseClick(panel->table()->viewport(), Qt::LeftButton, {}, panel->table()->visualRect(apply).center());
    EXPECT_EQ(plan(), *with_settings(before, found.changes[0].settings));
    EXPECT_EQ(was - fullest(), found.changes[0].saves);
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    EXPECT_TRUE(window_->waterline()->headline().startsWith(QStringLiteral("Fits")));

    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan(), before);
}

TEST_F(RemediesTest, TheSetIsOneStepAndThePanelFollowsThePlan) {
    open();
    RemediesPanel* panel = window_->remedies();
    ASSERT_TRUE(panel->model()->remedies()->set);
    const Remedy set = *panel->model()->remedies()->set;
    const Plan before = plan();
    const int steps = window_->plan()->undoStack()->count();
    ASSERT_TRUE(panel->applySet()->isVisible());
    QTest::mouseClick(panel->applySet(), Qt::LeftButton);
    EXPECT_TRUE(window_->plan()->numbers().memory->fits());
    EXPECT_EQ(fullest(), set.total);
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    // Of a plan that fits there is no set; what would save more stays.
    ASSERT_TRUE(wait([panel] { return panel->model()->remedies() != nullptr; }, 5000));
    EXPECT_FALSE(panel->applySet()->isVisible());
    EXPECT_TRUE(panel->why().contains(QStringLiteral("are free"))) << panel->why().toStdString();
    window_->plan()->undoStack()->undo();
    EXPECT_EQ(plan(), before);
}

TEST_F(RemediesTest, AnImpossiblePlanHasNone) {
    open();
    type("layout.tp", "7");
    EXPECT_EQ(window_->remedies()->model()->remedies(), nullptr);
    EXPECT_FALSE(window_->remedies()->table()->isEnabled());
    EXPECT_TRUE(window_->remedies()->why().contains(QStringLiteral("impossible")));
}

TEST_F(RemediesTest, LaterEditsShowWhatEachTermGains) {
    window_->showPage(PageId::Layout);
    auto* layout = qobject_cast<LayoutPage*>(window_->pageWidget(PageId::Layout));
    ASSERT_NE(layout, nullptr);
    QTest::mouseClick(layout->keepBaseline(), Qt::LeftButton);
    const RankMemory before = window_->plan()->numbers().memory->fullest();
    type("layout.zero_stage", "1");
    const RankMemory after = window_->plan()->numbers().memory->fullest();
    const auto difference = [&](const char* key) {
        for (const TextRow& row : layout->comparison().rows())
            if (row.name == QLatin1String(key)) return row.cells[3];
        return QString();
    };
    const Bytes moments = after.find("adam_moments")->bytes - before.find("adam_moments")->bytes;
    EXPECT_EQ(moments, -6'738'415'616 * 8 * 3 / 4);
    EXPECT_EQ(difference("adam_moments"), differenceText(moments));
    EXPECT_EQ(difference("parameters"), differenceText(0));
    const TextRow& total = layout->comparison().rows().constLast();
    EXPECT_EQ(total.cells[3], differenceText(after.total() - before.total()));
    QTest::mouseClick(layout->keepBaseline(), Qt::LeftButton);
    EXPECT_EQ(layout->terms().rows().constLast().cells[0], QStringLiteral("Total"));
}

}  // namespace
}  // namespace plimsoll::ui
