// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/share_pie.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <QChart>
#include <QPainter>
#include <QPieSeries>

namespace plimsoll::ui {

namespace {

constexpr double hole = 0.62;       // of the radius
constexpr double apart = 1.5;       // px between slices
constexpr double worthAGap = 0.02;  // of the whole; a gap would hide less

}  // namespace

SharePie::SharePie(const QString& title, const QString& unit, QWidget* parent) : PartChart(title, unit, parent) {}

void SharePie::setWhole(const QString& whole) {
    whole_ = whole;
    repaintWords();
}

void SharePie::fill(QChart& chart, const Theme& theme) const {
    auto* series = new QPieSeries;
    series->setPieSize(1);
    series->setHoleSize(hole);
    double whole = 0;
    for (const ChartPart& part : parts()) whole += part.value;
    for (const ChartPart& part : parts()) {
        QPieSlice* slice = series->append(part.name, part.value);
        slice->setBrush(part.colour(theme));
        slice->setPen(part.value >= worthAGap * whole ? QPen(theme.surface, apart) : QPen(Qt::NoPen));
    }
    chart.addSeries(series);
}

QRectF SharePie::plotArea() const {
    const double side = std::min<double>(pictureHeight(), height()) - 8;
    return {4, (height() - side) / 2, side, side};
}

QRectF SharePie::linesArea() const {
    const QRectF ring = plotArea();
    const double tall = static_cast<double>(parts().size()) * lineHeight;
    double wide = 2 * columnGap + swatch;
    for (const double column : columnWidths()) wide += column + columnGap;
    const double left = ring.right() + 20;
    return {left, (height() - tall) / 2, std::min(wide, width() - left - 6), tall};
}

int SharePie::partInPlot(const QPointF& at) const {
    const QRectF ring = plotArea();
    const QPointF off = at - ring.center();
    const double radius = ring.width() / 2, distance = std::hypot(off.x(), off.y());
    if (distance > radius || distance < hole * radius) return -1;
    // Qt Charts begins at the top and goes clockwise.
    double turn = std::atan2(off.x(), -off.y()) / (2 * std::numbers::pi);
    if (turn < 0) turn += 1;
    double whole = 0;
    for (const ChartPart& part : parts()) whole += part.value;
    double passed = 0;
    for (std::size_t i = 0; i < parts().size(); ++i) {
        passed += parts()[i].value / whole;
        if (turn <= passed) return static_cast<int>(i);
    }
    return -1;
}

void SharePie::paintMore(QPainter& painter, const Theme& theme) const {
    painter.setFont(uiFont(0.5, true));
    painter.setPen(theme.ink);
    painter.drawText(plotArea(), Qt::AlignCenter, whole_);
}

}  // namespace plimsoll::ui
