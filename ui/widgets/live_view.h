// SPDX-License-Identifier: GPL-3.0-or-later
// The activations that each rank keeps, over the time of the pipeline; the fullest rank is emphasised.
#pragma once

#include "core/schedule/plan_pipeline/memory_curve.h"
#include "ui/widgets/time_chart.h"

namespace plimsoll::ui {

class LiveView : public TimeChart {
    Q_OBJECT
public:
    explicit LiveView(QWidget* parent = nullptr);

    /// `limit`: micro-batches to compare with, drawn as a line; 0: none.
    void setCurves(MemoryCurve curves, double limit, const QString& limitText);
    const MemoryCurve& curves() const { return curves_; }

    void writeTable(TableText& table) const override;
    QSize sizeHint() const override { return {600, 132}; }
    QSize minimumSizeHint() const override { return {240, 132}; }

protected:
    bool isEmpty() const override { return curves_.ranks.empty(); }
    void paintEvent(QPaintEvent* event) override;

private:
    double yOf(double alive) const;
    double top() const;
    QPolygonF lineOf(const std::vector<MemoryPoint>& points) const;

    MemoryCurve curves_;
    std::size_t fullest_ = 0;
    double limit_ = 0;
    QString limit_text_;
};

}  // namespace plimsoll::ui
