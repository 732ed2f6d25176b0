// SPDX-License-Identifier: GPL-3.0-or-later
// The Pipeline page: the planned or tried pipeline at the left; figures, timeline, memory, comparison and advice at the
// right.
#pragma once

#include "ui/pipeline/pipeline_model.h"
#include "ui/widgets/page.h"

class QComboBox;
class QLabel;

namespace plimsoll::ui {

class Card;
class FigureStrip;
class Gantt;
class GanttLegend;
class LiveView;
class PlanModel;
class RanCard;
class ScheduleTable;
class TimeSpan;
class WhatIfCard;

class PipelinePage : public Page {
    Q_OBJECT
public:
    explicit PipelinePage(PlanModel* plan, QWidget* parent = nullptr);

    PipelineModel* model() { return &model_; }
    WhatIfCard* whatIf() const { return what_if_; }
    FigureStrip* figures() const { return figures_; }
    Gantt* gantt() const { return gantt_; }
    Gantt* comparedGantt() const { return compared_; }
    QComboBox* compareWith() const { return compare_with_; }
    QString comparison() const;
    RanCard* ran() const { return ran_; }

signals:
    void failed(const QString& sentence);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

private:
    void askForList();
    void makeLeft();
    void makeFigures(QVBoxLayout* column);
    void makeTimeline(QVBoxLayout* column);
    void makeComparison(QVBoxLayout* column);
    void makeLower(QVBoxLayout* column);
    void refresh();
    void refreshComparison();
    void refreshDetails();

    PlanModel* plan_;
    PipelineModel model_;
    TimeSpan* span_;
    WhatIfCard* what_if_ = nullptr;
    Card *planned_ = nullptr, *bubble_ = nullptr, *timeline_ = nullptr, *comparison_ = nullptr;
    FigureStrip* figures_ = nullptr;
    QLabel* difference_ = nullptr;
    Gantt *gantt_ = nullptr, *compared_ = nullptr;
    GanttLegend* legend_ = nullptr;
    LiveView* live_ = nullptr;
    QComboBox* compare_with_ = nullptr;
    RanCard* ran_ = nullptr;
    QLabel* comparison_words_ = nullptr;
    QLabel* advice_ = nullptr;
    ScheduleTable* schedules_ = nullptr;
    QBoxLayout* lower_ = nullptr;
};

}  // namespace plimsoll::ui
