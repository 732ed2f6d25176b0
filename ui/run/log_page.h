// SPDX-License-Identifier: GPL-3.0-or-later
// The Logs page: what each process of the run wrote, live, with a search.
#pragma once

#include <QWidget>

#include "ui/run/log_tail.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QPlainTextEdit;
class QPushButton;

namespace plimsoll::ui {

class RunModel;

class LogPage : public QWidget {
    Q_OBJECT
public:
    explicit LogPage(RunModel* run, QWidget* parent = nullptr);

    QPlainTextEdit* view() const { return view_; }
    QLineEdit* search() const { return search_; }
    QComboBox* picker() const { return picker_; }
    QPushButton* copyButton() const { return copy_; }
    QLabel* hits() const { return hits_; }
    LogTail* tail() { return &tail_; }

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void build();
    void refreshList();
    void showReset();
    void append(const QString& text);
    void find(bool backward);
    void refreshHits();
    void refreshFact();

    RunModel* run_;
    LogTail tail_;
    QList<NamedLog> logs_;
    bool picked_ = false;  ///< the person chose the log that is shown
    QComboBox* picker_;
    QLineEdit* search_;
    QLabel* hits_;
    QPushButton* copy_;
    QCheckBox* end_;  ///< stays at the end as the log grows
    QLabel* fact_;
    QPlainTextEdit* view_;
};

}  // namespace plimsoll::ui
