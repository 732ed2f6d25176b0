// SPDX-License-Identifier: GPL-3.0-or-later
// A sentence about a run that is not simply running, and the one action that helps.
#pragma once

#include <QFrame>

class QLabel;
class QProgressBar;
class QPushButton;

namespace plimsoll::ui {

class WatchNotice : public QFrame {
    Q_OBJECT
public:
    explicit WatchNotice(QWidget* parent = nullptr);

    /// `tone` as in the style sheet: "", "warn" or "bad". An empty `action` or `second` hides its button.
    void show(const QString& sentence, const QString& action, const QString& tone = {}, const QString& second = {});
    /// The history is being read: 0…1.
    void showProgress(const QString& sentence, double share);
    QString sentence() const;

signals:
    void actionRequested();
    void secondRequested();

private:
    QLabel* text_;
    QProgressBar* bar_;
    QPushButton* button_;
    QPushButton* second_;
};

}  // namespace plimsoll::ui
