// SPDX-License-Identifier: GPL-3.0-or-later
// Memory against step time: a point for each layout, the points of the Pareto front joined, the card's memory as the
// red line.
#pragma once

#include <optional>
#include <vector>

#include "core/base/units.h"
#include "ui/plots/value_axis.h"
#include "ui/widgets/chart.h"

namespace plimsoll::ui {

struct ParetoPoint {
    QString name;
    Seconds step = 0;
    Bytes peak = 0;
    std::int64_t gpus = 1;  ///< fronts are joined for each number of GPUs
    bool front = false;
};

class ParetoPlot : public Chart {
    Q_OBJECT
public:
    explicit ParetoPlot(QWidget* parent = nullptr);

    /// `present`: the place of the plan's own layout. `usable`: memory of a card.
    void setPoints(std::vector<ParetoPoint> points, std::optional<ParetoPoint> present, Bytes usable);
    const std::vector<ParetoPoint>& points() const { return points_; }
    /// The points belong to an older question.
    void setStale(bool stale);
    void setEmptyText(const QString& text);
    /// Marks a point; -1: none.
    void setCurrent(int index);
    int current() const { return current_; }
    QPointF place(const ParetoPoint& point) const;
    /// The point nearest to a place, within reach of a pointer; -1: none.
    int pointAt(const QPointF& at) const;

    void writeTable(TableText& table) const override;
    QSize sizeHint() const override { return {420, 240}; }
    QSize minimumSizeHint() const override { return {220, 170}; }

signals:
    void chosen(int index);

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRectF area() const;
    void paintGrid(QPainter& painter) const;
    void paintFront(QPainter& painter) const;
    void paintPoints(QPainter& painter) const;
    QString words(const ParetoPoint& point) const;

    std::vector<ParetoPoint> points_;
    std::vector<int> by_time_;
    std::optional<ParetoPoint> present_;
    Bytes usable_ = 0;
    ValueAxis time_;
    ValueAxis memory_;
    QString empty_text_;
    int current_ = -1;
    int hovered_ = -1;
    bool stale_ = false;
};

}  // namespace plimsoll::ui
