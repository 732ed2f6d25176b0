// SPDX-License-Identifier: GPL-3.0-or-later
// The Watch page: a run's plots, events and samples, live.
#pragma once

#include <QList>
#include <QWidget>

#include "ui/run/run_words.h"

class QComboBox;
class QGridLayout;
class QHBoxLayout;
class QLabel;
class QPushButton;
class QScrollArea;
class QVBoxLayout;

namespace plimsoll::ui {

class EventListModel;
class LinePlot;
class WatchNotice;
class RunListModel;
class RunModel;
class StepAxis;
class WatchSide;
class WatchCard;

class WatchPage : public QWidget {
    Q_OBJECT
public:
    explicit WatchPage(RunModel* model, QWidget* parent = nullptr);
    ~WatchPage() override;

    /// The plots that are shown, in reading order.
    QList<LinePlot*> plots() const;
    StepAxis* axis() const { return axis_; }
    RunListModel* runs() const { return runs_; }
    QPushButton* resumeButton() const { return resume_; }
    QPushButton* moreStepsButton() const { return more_; }

signals:
    void trainRequested();  ///< the empty state's action
    void resumeRequested(const QString& runPath);
    void moreStepsRequested(const QString& runPath);
    void logRequested();

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void build();
    void openedRun();
    void updatePoints();
    void updateStatus();
    void updateNotice();
    void arrange();
    void selectCurrentRun();
    void runNoticeAction(RunNotice::Action action);
    void updateActions();
    static QString actionText(RunNotice::Action action);

    RunModel* model_;
    StepAxis* axis_;
    RunListModel* runs_;
    QComboBox* picker_;
    QLabel* status_;
    QLabel* progress_;
    WatchNotice* notice_;
    QPushButton* whole_run_;
    QPushButton* resume_;
    QPushButton* more_;
    QVBoxLayout* column_;
    QHBoxLayout* notice_row_;
    QScrollArea* scroll_;
    QGridLayout* grid_;
    QList<WatchCard*> cards_;
    WatchSide* side_;
    bool plan_shown_ = false;     ///< the cards were built with the run's plan
    QString status_shown_;        ///< what the list of runs was read for last
    QList<WatchCard*> arranged_;  ///< cards in the grid
    int columns_ = 0;
};

}  // namespace plimsoll::ui
