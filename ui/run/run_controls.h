// SPDX-License-Identifier: GPL-3.0-or-later
// Train; while a run is live the stop ladder in its place.
#pragma once

#include <QPushButton>
#include <QToolButton>
#include <QWidget>

namespace plimsoll::ui {

class RunModel;
class RunStarter;

class RunControls : public QWidget {
    Q_OBJECT
public:
    RunControls(RunModel* run, RunStarter* starter, QWidget* parent = nullptr);

    QPushButton* train() const { return train_; }
    QToolButton* stop() const { return stop_; }

signals:
    void trainRequested();
    void stopRequested();
    void stopNowRequested();

private:
    void refresh();

    RunModel* run_;
    RunStarter* starter_;
    QPushButton* train_;
    QToolButton* stop_;
    QToolButton* more_;
    QAction* stop_now_;
};

/// A run that trains, begins to or is being stopped.
bool isUnderWay(const RunModel& run);

}  // namespace plimsoll::ui
