// SPDX-License-Identifier: GPL-3.0-or-later
// A chart over a pipeline's time: its axis, and zooming and panning.
#pragma once

#include <optional>

#include "ui/widgets/chart.h"
#include "ui/widgets/time_span.h"

class QToolButton;

namespace plimsoll::ui {

class TimeChart : public Chart {
    Q_OBJECT
public:
    explicit TimeChart(const QString& name, QWidget* parent = nullptr);

    /// Shared with other charts; at first the chart has one of its own.
    void setSpan(TimeSpan* span);
    TimeSpan* span() const { return span_; }
    bool ownsSpan() const { return span_ == &own_; }
    /// With Ctrl the wheel zooms; without, it scrolls the page.
    void setZoomable(bool zoomable);
    /// Shows the whole time again; visible while a part is shown.
    QToolButton* resetButton() const { return reset_; }

    double xOf(double time) const;
    double timeAt(double x) const;
    /// The rectangle of the time axis, over the whole height.
    virtual QRectF plotArea() const;

protected:
    static constexpr double axisHeight = 24;

    void paintAxis(QPainter& painter) const;
    /// Whether there is nothing to zoom.
    virtual bool isEmpty() const = 0;
    virtual void spanChanged() { update(); }
    void placeReset();
    void resizeEvent(QResizeEvent* event) override;

    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    QToolButton* reset_;
    TimeSpan own_;
    TimeSpan* span_ = &own_;
    bool zoomable_ = false;
    std::optional<double> dragged_;        ///< x
    mutable double left_ = 0, right_ = 0;  ///< 0: not measured yet
};

}  // namespace plimsoll::ui
