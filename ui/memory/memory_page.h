// SPDX-License-Identifier: GPL-3.0-or-later
// The Memory page: a dry run of one rank, its memory through the step, and the blocks at the peak.
#pragma once

#include <QTimer>

#include "ui/memory/dry_run_model.h"
#include "ui/widgets/page.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;

namespace plimsoll::ui {

class Card;
class CategoryLegend;
class FactTable;
class FigureStrip;
class MemoryChart;
class PartBars;
class PlanModel;

class MemoryPage : public Page {
    Q_OBJECT
public:
    explicit MemoryPage(PlanModel* plan, QWidget* parent = nullptr);

    DryRunModel* model() { return &model_; }
    MemoryChart* chart() const { return chart_; }
    QPushButton* runButton() const { return run_; }
    QString status() const;
    const TextTable& standing() const { return standing_; }

protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void makeChart(QVBoxLayout* column);
    void makeBreakdown(QVBoxLayout* column);
    void makeStanding(QVBoxLayout* column);
    void planChanged();
    void refresh();
    void refreshStages();
    void refreshBreakdown();
    void keepWhole();
    Bytes estimated() const;

    PlanModel* plan_;
    DryRunModel model_;
    TextTable standing_;
    QTimer soon_;  ///< from an edit to the next dry run
    Card* timeline_ = nullptr;
    Card* breakdown_ = nullptr;
    Card* peak_ = nullptr;
    QComboBox* stage_ = nullptr;
    QPushButton* run_ = nullptr;
    QLabel* status_ = nullptr;
    QProgressBar* progress_ = nullptr;
    FigureStrip* figures_ = nullptr;
    CategoryLegend* legend_ = nullptr;
    MemoryChart* chart_ = nullptr;
    PartBars* categories_ = nullptr;
    FactTable* table_ = nullptr;
};

}  // namespace plimsoll::ui
