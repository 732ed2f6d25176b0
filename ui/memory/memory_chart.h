// SPDX-License-Identifier: GPL-3.0-or-later
// Memory over the events of a step: stacked by category, with the allocator's reserved memory as a line and the phases
// below.
#pragma once

#include <memory>
#include <QImage>

#include "core/allocator/memory_timeline.h"
#include "ui/widgets/time_chart.h"

namespace plimsoll::ui {

class MemoryChart : public TimeChart {
    Q_OBJECT
public:
    explicit MemoryChart(QWidget* parent = nullptr);

    /// Null: nothing to draw. `usable` is the card's line; 0: none.
    void setTimeline(std::shared_ptr<const MemoryTimeline> timeline, Bytes usable);
    /// Shown in place of the chart while there is none.
    void setEmptyText(const QString& text);
    /// Draws the timeline pale, because it belongs to another plan.
    void setDimmed(bool dimmed);

    /// The point at a place of the chart; nothing outside the plot.
    std::optional<std::size_t> pointAt(const QPointF& at) const;
    /// A point in rich text: phase, op, the block that came or went, bytes by category.
    QString pointText(std::size_t point) const;
    /// The height at which bytes are drawn.
    double yOf(Bytes bytes) const;

    QRectF plotArea() const override;
    void writeTable(TableText& table) const override;

    QSize sizeHint() const override { return {620, 320}; }
    QSize minimumSizeHint() const override { return {240, 220}; }

protected:
    bool isEmpty() const override { return !timeline_; }
    void spanChanged() override;
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    QRectF frame() const;
    std::size_t pointOfEvent(double event) const;
    const TimelinePhase* phaseOf(std::int64_t event) const;
    double endOfPhase(std::size_t phase) const;
    void draw();
    void paintAreas(QPainter& painter) const;
    void paintReserved(QPainter& painter) const;
    void paintScale(QPainter& painter) const;
    void paintPhases(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void hover(std::optional<std::size_t> point);

    std::shared_ptr<const MemoryTimeline> timeline_;
    Bytes usable_ = 0, top_ = 1;
    QString empty_text_;
    bool dimmed_ = false;
    QImage picture_;
    bool stale_ = true;
    mutable double scale_width_ = 0;  ///< 0: not measured yet
    std::optional<std::size_t> hovered_;
};

}  // namespace plimsoll::ui
