// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a plot onto any device: the widget on screen, a PNG, a picture in a test.
#pragma once

#include <optional>
#include <QPainter>
#include <QRectF>

#include "ui/plots/plot_content.h"
#include "ui/plots/step_axis.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

class PlotPainter {
public:
    /// Queries the columns of every line for the shown range: `area` is the whole plot with its labels, `ratio` the
    /// device pixels per unit. Content, axis and theme must outlive the painter; series are looked up anew.
    PlotPainter(const PlotContent& content, const StepAxis& axis, const Theme& theme, const QFont& font, QRectF area,
                qreal ratio);

    /// Grid, labels, levels, lines, flags, marks.
    void paint(QPainter& painter) const;
    /// Paints what follows the mouse: the cursor's line, a dot on each line and, when `detailed`, step and values in a
    /// box.
    void paintCursor(QPainter& painter, bool detailed) const;

    /// The rectangle of the lines.
    const QRectF& frame() const { return frame_; }
    const StepRange& range() const { return range_; }
    const ValueAxis& values() const { return *values_; }
    bool empty() const { return !has_data_; }
    double xOf(double step) const;
    double stepAt(double x) const;
    double yOf(double value) const;

    static StepRange shownRange(const PlotContent& content, const StepAxis& axis);
    static QRectF frameOf(const PlotContent& content, QRectF area, const QFont& font);

private:
    struct Drawn {
        const PlotLine* line;
        std::vector<Column> columns;
        std::vector<QPointF> points;  ///< in place of spans where the line is short: smoother
    };
    QColor colour(int category) const { return theme_.category[static_cast<std::size_t>(category) % 6]; }
    QColor inkOf(const PlotLine& line) const;
    void fitValues();
    void paintGrid(QPainter& painter) const;
    void paintSteps(QPainter& painter) const;
    void paintLevels(QPainter& painter) const;
    void paintPlanned(QPainter& painter) const;
    /// Marks the run's current point on its planned course.
    void paintLivePoint(QPainter& painter) const;
    void paintSpans(QPainter& painter) const;
    void paintStroked(QPainter& painter, const Drawn& drawn) const;
    void paintLegend(QPainter& painter) const;
    void paintFlags(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void addPoints(Drawn& drawn, const Pyramid& data) const;
    void joinEdges(Drawn& drawn, const Pyramid& data) const;

    const PlotContent& content_;
    const StepAxis& axis_;
    const Theme& theme_;
    QFont font_;
    QRectF frame_;
    qreal ratio_;
    StepRange range_;
    std::vector<Drawn> drawn_;
    std::optional<ValueAxis> values_;
    bool has_data_ = false;
};

}  // namespace plimsoll::ui
