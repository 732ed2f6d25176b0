// SPDX-License-Identifier: GPL-3.0-or-later
// A live line plot that stays fluid with millions of points: Ctrl and the wheel zoom, drag pans, Shift-drag zooms into a box,
// double click follows the run again; + − arrows Home and L do the same from the keyboard.
#pragma once

#include <memory>
#include <optional>
#include <QPixmap>

#include "ui/plots/plot_content.h"
#include "ui/plots/step_axis.h"
#include "ui/widgets/chart.h"

class QToolButton;

namespace plimsoll::ui {

class PlotPainter;

class LinePlot : public Chart {
    Q_OBJECT
public:
    /// `title` becomes the accessible name. The axis may be shared with other plots and must outlive this one.
    LinePlot(const QString& title, StepAxis* axis, QWidget* parent = nullptr);

    ~LinePlot() override;

    const PlotContent& content() const { return content_; }
    void setContent(PlotContent content);
    void setFlags(std::vector<PlotFlag> flags);
    /// New points have arrived: repaints, and tells assistive technology the latest values.
    void dataChanged();

    bool logScale() const { return content_.log_scale; }
    void setLogScale(bool on);
    StepAxis* axis() const { return axis_; }

    /// Exact value of a line at a step (the last point at or before it); nothing while there are no points.
    std::optional<double> valueAt(std::size_t line, double step) const;
    /// "step 1,204: loss 2.614, validation loss 2.702".
    QString readout(double step) const;

    /// Paints grid, lines and marks (no cursor) into any area, e.g. for a PNG.
    void render(QPainter& painter, QRectF area, qreal ratio) const;

    /// Writes every recorded point of the shown steps, a column for each line.
    void writeTable(TableText& table) const override;
    QImage picture() override;

    QSize sizeHint() const override { return {440, 150}; }
    QSize minimumSizeHint() const override { return {160, 84}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void invalidate();
    void placeButtons();
    QRectF frame() const;
    StepRange shown() const;
    double stepAt(double x) const;
    void moveCursor(double step);
    void moveCursorByPoint(int direction);
    const Pyramid* firstData() const;

    StepAxis* axis_;
    PlotContent content_;
    std::unique_ptr<PlotPainter> painter_;  ///< null after a change
    QPixmap base_;                          ///< everything but the cursor
    bool hovered_ = false;
    std::optional<QPointF> drag_from_;
    std::optional<QPointF> box_from_;
    QPointF box_to_;
    StepRange drag_range_;
    QToolButton* log_;
    QToolButton* reset_;
};

}  // namespace plimsoll::ui
