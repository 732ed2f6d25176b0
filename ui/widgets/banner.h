// SPDX-License-Identifier: GPL-3.0-or-later
// A sentence over the foot of the page with the one action that helps. It moves nothing, so that no click lands beside
// its aim, and goes by itself: good news after a while, the rest with its cause.
#pragma once

#include <functional>
#include <QFrame>
#include <QLabel>
#include <QPushButton>
#include <QTimer>

namespace plimsoll::ui {

class Banner : public QFrame {
    Q_OBJECT
public:
    /// What a sentence is about; when that has passed, withdraw() takes the sentence away.
    enum class Cause { None, Plan, Edit, Run };

    /// Lies over `anchor`, a sibling or a child of a sibling under `parent`.
    Banner(QWidget* anchor, QWidget* parent);

    /// `tone`: good, warn, bad or "" (accent). Without `action` only the sentence and the cross are shown. Good news goes
    /// after some seconds without the mouse over it; with an action after a longer while.
    void say(const char* tone, const QString& sentence, const QString& action = {},
             const std::function<void()>& run = {}, Cause cause = Cause::None);
    /// Hides a sentence of that cause.
    void withdraw(Cause cause);
    QString sentence() const { return sentence_->text(); }
    QPushButton* action() const { return action_; }
    /// Whether the sentence goes by itself, and after how many milliseconds.
    const QTimer& expiry() const { return expiry_; }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void enterEvent(QEnterEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void place();

    QWidget* anchor_;
    QLabel* sentence_;
    QPushButton* action_;
    std::function<void()> run_;
    Cause cause_ = Cause::None;
    QTimer expiry_;
};

}  // namespace plimsoll::ui
