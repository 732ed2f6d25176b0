// SPDX-License-Identifier: GPL-3.0-or-later
// The Start page: three ways to begin, recent plans and runs.
#pragma once

#include <QStringList>

#include "ui/widgets/page.h"

class QPushButton;

namespace plimsoll::ui {

class Card;
class RunListModel;

class StartPage : public Page {
    Q_OBJECT
public:
    explicit StartPage(QWidget* parent = nullptr);

    QPushButton* fitButton() const { return fit_; }
    QPushButton* fineTuneButton() const { return fine_tune_; }
    QPushButton* demoButton() const { return demo_; }

    /// Paths of plan files, newest first, and the runs of the store; the first few of each are shown.
    void setRecent(const QStringList& plans, const RunListModel& runs);

signals:
    void fitRequested();
    void fineTuneRequested();
    void demoRequested();
    void planRequested(const QString& pathOrPreset);
    void runRequested(const QString& runPath);
    void shown();

protected:
    void showEvent(QShowEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    QPushButton* addWay(const QString& title, const QString& words, const QString& action);
    static void clear(Card* card);
    void addLink(Card* card, const QString& text, const QString& tip, const std::function<void()>& open);

    QBoxLayout* ways_;
    QBoxLayout* lists_ = nullptr;
    QPushButton* fit_ = nullptr;
    QPushButton* fine_tune_ = nullptr;
    QPushButton* demo_ = nullptr;
    Card* plans_;
    Card* examples_;
    Card* runs_;
};

}  // namespace plimsoll::ui
