// SPDX-License-Identifier: GPL-3.0-or-later
// A sentence across the window with the one action that helps; it never stands in the way.
#pragma once

#include <functional>
#include <QFrame>
#include <QLabel>
#include <QPushButton>

namespace plimsoll::ui {

class Banner : public QFrame {
    Q_OBJECT
public:
    explicit Banner(QWidget* parent = nullptr);

    /// `tone`: good, warn, bad or "" (accent). Without `action` only the sentence and the cross are shown.
    void say(const char* tone, const QString& sentence, const QString& action = {},
             const std::function<void()>& run = {});
    QString sentence() const { return sentence_->text(); }
    QPushButton* action() const { return action_; }

private:
    QLabel* sentence_;
    QPushButton* action_;
    std::function<void()> run_;
};

}  // namespace plimsoll::ui
