// SPDX-License-Identifier: GPL-3.0-or-later
// The search field over actions and settings (Ctrl K): a line and, under it, the matches.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QListView>

#include "ui/common/command_list.h"

namespace plimsoll::ui {

class SearchField : public QLineEdit {
    Q_OBJECT
public:
    explicit SearchField(QWidget* parent = nullptr);

    CommandList* commands() { return &commands_; }
    QListView* list() const { return list_; }
    /// What stands in the list's place when nothing matches; null before the first search.
    QLabel* nothingFound() const { return none_; }
    /// Takes the focus and shows the whole list.
    void begin();

signals:
    /// The field is about to be used, and the list has to be filled.
    void opened();

protected:
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void showList();
    void hideList();
    void choose(const QModelIndex& index);
    void move(int by);

    CommandList commands_;
    QLabel* none_ = nullptr;
    QFrame* frame_ = nullptr;
    QListView* list_;
};

}  // namespace plimsoll::ui
