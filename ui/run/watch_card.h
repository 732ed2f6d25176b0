// SPDX-License-Identifier: GPL-3.0-or-later
// One plot of the Watch page with its title and its latest figures.
#pragma once

#include <QList>

#include "ui/plots/plot_content.h"
#include "ui/run/smoothed_series.h"
#include "ui/widgets/card.h"

class QSlider;

namespace plimsoll::ui {

class LinePlot;
class RunModel;
class StepAxis;

enum class WatchPlot { Loss, AddedLoss, GradNorm, LearningRate, LossScale, Throughput, Memory, StepTime };

class WatchCard : public Card {
    Q_OBJECT
public:
    WatchCard(WatchPlot kind, RunModel* run, StepAxis* axis, QWidget* parent = nullptr);

    WatchPlot kind() const { return kind_; }
    LinePlot* plot() const { return plot_; }
    /// Weight of the past in percent; null but for the loss.
    QSlider* smoothing() const { return smoothing_; }
    /// Says something about this run: the loss scale of an fp32 or bf16 run is 1 for ever, and only routers of experts and
    /// a z-loss add to the loss.
    bool isUseful() const;
    /// Lines, levels and flags anew: another run, its plan or another rank has come.
    void rebuild();
    /// New points and events.
    void updatePoints();

    static QList<WatchCard*> all(RunModel* run, StepAxis* axis, QWidget* parent);

private:
    void addSmoothing();
    void followSmoothing();
    PlotContent content() const;
    std::vector<PlotFlag> flags() const;
    PlotLine line(const QString& name, const char* series, int category, int rank = 0) const;
    void addRankLines(PlotContent& content, const char* series) const;
    /// What rollbacks and restarts left of a series, faint behind its line.
    void addLeftBranches(PlotContent& content, const char* series, int category) const;
    std::size_t leftBranches() const;
    void showFigures();

    WatchPlot kind_;
    RunModel* run_;
    LinePlot* plot_;
    int ranks_ = 0;
    std::size_t events_ = 0;
    std::size_t left_ = 0;
    QSlider* smoothing_ = nullptr;  ///< of the loss alone
    SmoothedSeries smoothed_;
};

}  // namespace plimsoll::ui
