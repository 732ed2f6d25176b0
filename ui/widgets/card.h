// SPDX-License-Identifier: GPL-3.0-or-later
// A card: one idea, with a title, a muted line with the fact that matters, then the content.
#pragma once

#include <QFrame>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

namespace plimsoll::ui {

class Card : public QFrame {
    Q_OBJECT
public:
    explicit Card(const QString& title, QWidget* parent = nullptr);
    /// A muted text beside the title.
    void setFact(const QString& fact);
    /// A current value at the right end of the title row.
    void setValue(const QString& value);
    /// A small control at the right end of the title row, before the value.
    void addToTitle(QWidget* widget) { row_->insertWidget(row_->count() - 1, widget); }
    /// Pales the card while what it shows belongs to an earlier state.
    void setStale(bool stale);
    bool isStale() const { return graphicsEffect() != nullptr; }
    /// The layout under the title row.
    QVBoxLayout* body() const { return body_; }

private:
    QLabel* title_;
    QLabel* fact_;
    QLabel* value_;
    QHBoxLayout* row_;
    QVBoxLayout* body_;
};

}  // namespace plimsoll::ui
