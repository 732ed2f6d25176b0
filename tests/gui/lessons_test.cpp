// SPDX-License-Identifier: GPL-3.0-or-later
// The Lessons page: each lesson is shown whole, and its plan opens as one step.
#include <QUndoStack>

#include "tests/support/gui_fixture.h"
#include "ui/lessons/lessons_page.h"

namespace plimsoll::ui {
namespace {

TEST_F(GuiTest, EachLessonShowsItsArithmeticAndItsVerdict) {
    window_->showPage(PageId::Lessons);
    LessonsPage* page = window_->lessonsPage();
    ASSERT_EQ(page->list()->model()->rowCount(), static_cast<int>(lesson_names().size()));
    EXPECT_TRUE(page->model()->problem().isEmpty()) << page->model()->problem().toStdString();
    for (int i = 0; i < page->list()->model()->rowCount(); ++i) {
        const QModelIndex row = page->list()->model()->index(i, 0);
        QTest::mouseClick(page->list()->viewport(), Qt::LeftButton, {}, page->list()->visualRect(row).center());
        ASSERT_EQ(page->model()->chosen(), i);
        const Lesson& lesson = page->model()->lessons()[static_cast<std::size_t>(i)];
        for (const LessonStep& step : lesson.steps)
            EXPECT_TRUE(page->text().contains(QString::fromStdString(step.result()))) << step.name;
        for (const std::string& sentence : lesson.wrong)
            EXPECT_TRUE(page->text().contains(QString::fromStdString(sentence))) << sentence;
    }
}

TEST_F(GuiTest, ALessonsPlanOpensAsOneStepThatCanBeUndone) {
    window_->showPage(PageId::Lessons);
    LessonsPage* page = window_->lessonsPage();
    page->list()->selectRow(3);
    const Plan before = plan();
    const int steps = window_->plan()->undoStack()->count();
    ASSERT_TRUE(page->openButton()->isEnabled());
    QTest::mouseClick(page->openButton(), Qt::LeftButton);
    EXPECT_EQ(plan(), page->model()->lesson()->plan);
    EXPECT_EQ(window_->plan()->undoStack()->count(), steps + 1);
    EXPECT_FALSE(page->openButton()->isEnabled()) << "it is open";
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    EXPECT_EQ(plan(), before);
    EXPECT_TRUE(page->openButton()->isEnabled());
}

}  // namespace
}  // namespace plimsoll::ui
