// SPDX-License-Identifier: GPL-3.0-or-later
// The Watch page's right column: what happened, what the model writes, and the gradient norm of each layer.
#pragma once

#include <QWidget>

class QLabel;
class QListView;
class QPlainTextEdit;

namespace plimsoll::ui {

class BarPlot;
class Card;
class CurveView;
class EventListModel;
class MeasuredBars;
class RunModel;
class StepAxis;

class WatchSide : public QWidget {
    Q_OBJECT
public:
    WatchSide(RunModel* run, StepAxis* axis, QWidget* parent = nullptr);

    void updatePoints();
    EventListModel* events() const { return events_; }
    QListView* eventView() const { return view_; }
    BarPlot* layers() const { return bars_; }
    MeasuredBars* memory() const { return memory_; }

private:
    RunModel* run_;
    EventListModel* events_;
    QListView* view_;
    Card* sample_card_;
    QPlainTextEdit* sample_;
    Card* layer_card_;
    BarPlot* bars_;
    Card* memory_card_;
    MeasuredBars* memory_;
    Card* range_card_;
    CurveView* range_;
    QLabel* range_words_;
};

}  // namespace plimsoll::ui
