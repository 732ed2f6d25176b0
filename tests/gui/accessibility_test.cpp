// SPDX-License-Identifier: GPL-3.0-or-later
// Every widget that a person can act on tells its name, in both themes.
#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QApplication>
#include <QPlainTextEdit>
#include <QScrollBar>
#include <QTextEdit>

#include "tests/support/gui_fixture.h"
#include "ui/widgets/search_field.h"
#include "ui/window/top_bar.h"

namespace plimsoll::ui {
namespace {

/// Parts that Qt makes inside its own widgets.
bool inner(const QWidget* widget) {
    const QString name = widget->objectName();
    return name.startsWith(QLatin1String("qt_")) || qobject_cast<const QScrollBar*>(widget) ||
           (widget->parentWidget() && (qobject_cast<const QComboBox*>(widget->parentWidget()) ||
                                       qobject_cast<const QLineEdit*>(widget->parentWidget()) ||
                                       widget->parentWidget()->inherits("QComboBoxPrivateContainer") ||
                                       widget->parentWidget()->inherits("QAbstractItemView")));
}

bool interactive(const QWidget* widget) {
    return qobject_cast<const QAbstractButton*>(widget) || qobject_cast<const QComboBox*>(widget) ||
           qobject_cast<const QLineEdit*>(widget) || qobject_cast<const QAbstractItemView*>(widget) ||
           qobject_cast<const QAbstractSlider*>(widget) || qobject_cast<const QPlainTextEdit*>(widget) ||
           qobject_cast<const QTextEdit*>(widget) || (widget->focusPolicy() & Qt::TabFocus);
}

TEST_F(GuiTest, EveryInteractiveWidgetHasAnAccessibleName) {
    int seen = 0;
    for (const QWidget* widget : window_->findChildren<QWidget*>()) {
        if (!interactive(widget) || inner(widget)) continue;
        ++seen;
        EXPECT_FALSE(widget->accessibleName().isEmpty())
            << widget->metaObject()->className() << " \"" << widget->objectName().toStdString() << "\" in "
            << widget->parentWidget()->metaObject()->className();
    }
    // The fields of the plan alone are more than this.
    EXPECT_GT(seen, 70);
}

TEST_F(GuiTest, TabReachesTheFieldsOfAPage) {
    window_->showPage(PageId::Layout);
    window_->focusField(QStringLiteral("layout.dp"));
    QStringList visited;
    for (int i = 0; i < 8; ++i) {
        visited << QApplication::focusWidget()->objectName();
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
    }
    EXPECT_TRUE(visited.contains(QStringLiteral("layout.accumulation")))
        << visited.join(QLatin1Char(' ')).toStdString();
}

TEST_F(GuiTest, TabWalksTheBarThenThePagesThenThePage) {
    window_->showPage(PageId::Recipe);
    window_->topBar()->search()->setFocus(Qt::TabFocusReason);
    QStringList visited;
    for (int i = 0; i < 13; ++i) {
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        visited << QApplication::focusWidget()->accessibleName();
    }
    // Undo and Redo have nothing to do yet; of the pages the one that is shown is the stop.
    EXPECT_EQ(visited.mid(0, 2), QStringList({QStringLiteral("Export"), QStringLiteral("Train")}))
        << visited.join(QLatin1Char(' ')).toStdString();
    EXPECT_EQ(visited[2], QStringLiteral("Recipe"));
    EXPECT_EQ(visited[3], QStringLiteral("Precision"));
}

TEST_F(GuiTest, BothThemesDrawEveryPage) {
    for (const ThemeChoice choice : {ThemeChoice::Dark, ThemeChoice::Light}) {
        applyTheme(*qApp, choice);
        const Theme& theme = Theme::of(QApplication::palette());
        EXPECT_EQ(theme.dark, choice == ThemeChoice::Dark);
        for (int i = 0; i < pageCount; ++i) {
            window_->showPage(static_cast<PageId>(i));
            const QImage image = window_->grab().toImage();
            // The window's corner below the navigation is the navigation's surface, whatever the page.
            EXPECT_EQ(image.pixelColor(20, image.height() - 20), theme.surface) << i;
        }
    }
}

}  // namespace
}  // namespace plimsoll::ui
