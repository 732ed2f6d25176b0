// SPDX-License-Identifier: GPL-3.0-or-later
// The real main window with a store and a state folder of its own, and the hands of a person.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <QComboBox>
#include <QElapsedTimer>
#include <QEvent>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "ui/common/text_table.h"
#include "ui/plan/choice_table.h"
#include "ui/plan/plan_model.h"
#include "ui/run/run_controls.h"
#include "ui/run/run_model.h"
#include "ui/waterline/waterline.h"
#include "ui/widgets/banner.h"
#include "ui/widgets/field_row.h"
#include "ui/window/main_window.h"
#include "ui/window/unsaved_dialog.h"

namespace plimsoll::ui {

/// Counts the paint events of a widget.
class Paints : public QObject {
public:
    explicit Paints(QWidget* widget) { widget->installEventFilter(this); }
    int count = 0;

protected:
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::Paint) ++count;
        return false;
    }
};

class GuiTest : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_TRUE(home_.isValid());
        qputenv("XDG_STATE_HOME", home_.filePath(QStringLiteral("state")).toUtf8());
        qputenv("PLIMSOLL_RUNS", home_.filePath(QStringLiteral("runs")).toUtf8());
        window_ = std::make_unique<MainWindow>();
        window_->begin();
        window_->show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(window_.get()));
    }

    void TearDown() override {
        // No test leaves a run behind.
        if (window_ && isUnderWay(*window_->run())) {
            window_->run()->requestStopNow();
            EXPECT_TRUE(wait([this] { return !isUnderWay(*window_->run()); }, 15'000));
        }
        window_.reset();
    }

    static bool wait(const std::function<bool()>& what, int ms) { return QTest::qWaitFor(what, ms); }

    QString path(const char* name) const { return home_.filePath(QString::fromLatin1(name)); }
    const Plan& plan() const { return window_->plan()->plan(); }

    FieldRow* row(const QString& key) const {
        for (FieldRow* candidate : window_->findChildren<FieldRow*>())
            if (candidate->key() == key) return candidate;
        return nullptr;
    }

    /// Goes to the field, types, leaves it.
    void type(const char* key, const char* text) {
        const QString name = QString::fromLatin1(key);
        ASSERT_TRUE(window_->focusField(name)) << key;
        auto* line = qobject_cast<QLineEdit*>(row(name)->editor());
        ASSERT_NE(line, nullptr) << key;
        line->selectAll();
        QTest::keyClicks(line, QString::fromLatin1(text));
        QTest::keyClick(line, Qt::Key_Return);
    }

    /// Searches the catalogue and clicks the row.
    static void choose(ChoiceTable* table, const char* name) {
        table->search()->clear();
        QTest::keyClicks(table->search(), QString::fromLatin1(name));
        QTableView* view = table->table();
        for (int i = 0; i < view->model()->rowCount(); ++i) {
            const QModelIndex index = view->model()->index(i, 0);
            if (index.data(TextTable::NameRole).toString() != QString::fromLatin1(name)) continue;
            view->scrollTo(index);
            QTest::mouseClick(view->viewport(), Qt::LeftButton, {}, view->visualRect(index).center());
            table->search()->clear();
            return;
        }
        FAIL() << name << " is not in the table";
    }

    /// The one widget of its class in the window.
    template <class Widget>
    Widget* the() const {
        return window_->findChild<Widget*>();
    }

    /// The question that is open about edits, or null. One that was answered may not have been deleted yet.
    UnsavedDialog* question() const {
        for (UnsavedDialog* candidate : window_->findChildren<UnsavedDialog*>())
            if (candidate->isVisible()) return candidate;
        return nullptr;
    }

    /// Opens another plan; edits of the one before are given up.
    void openPlan(const QString& pathOrPreset) {
        window_->openPlan(pathOrPreset);
        if (UnsavedDialog* asked = question()) QTest::mouseClick(asked->discardButton(), Qt::LeftButton);
    }

    QPushButton* button(const char* accessibleName) const {
        for (QPushButton* candidate : window_->findChildren<QPushButton*>())
            if (candidate->accessibleName() == QString::fromLatin1(accessibleName)) return candidate;
        return nullptr;
    }

    QTemporaryDir home_;
    std::unique_ptr<MainWindow> window_;
};

}  // namespace plimsoll::ui
