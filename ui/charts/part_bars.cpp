// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/part_bars.h"

#include <algorithm>
#include <QBarCategoryAxis>
#include <QBarSet>
#include <QChart>
#include <QHorizontalBarSeries>
#include <QHorizontalStackedBarSeries>
#include <QPainter>
#include <QValueAxis>

namespace plimsoll::ui {

namespace {

constexpr double barWidth = 0.6;     // of a line
constexpr double namesShare = 0.62;  // of the width: the most that names and figures take
constexpr double pairWidth = 0.72;   // of two bars
constexpr double mutedBar = 0.45;    // strength of the grey of the other whole
constexpr double leastPlot = 60;     // px

void paint(QBarSet* set, const QColor& colour) {
    set->setBrush(colour);
    set->setPen(Qt::NoPen);
}

QColor otherColour(const Theme& theme) {
    QColor colour = theme.muted;
    colour.setAlphaF(mutedBar);
    return colour;
}

}  // namespace

PartBars::PartBars(const QString& title, const QString& unit, QWidget* parent)
    : PartChart(title, unit, parent), unit_(unit) {}

void PartBars::setCompared(const QString& shown, const QString& other) {
    if (shown == shown_ && other == other_) return;
    shown_ = shown;
    other_ = other;
    updateGeometry();
    setParts(parts());
}

void PartBars::fill(QChart& chart, const Theme& theme) const {
    // Qt Charts counts categories from below.
    const std::vector<ChartPart> upward(parts().rbegin(), parts().rend());
    QAbstractBarSeries* series = nullptr;
    double most = 0;
    QStringList names;
    for (const ChartPart& part : upward) {
        most = std::max({most, part.value, isCompared() ? part.other : 0});
        names << part.name;
    }
    if (isCompared()) {
        series = new QHorizontalBarSeries;
        auto *shown = new QBarSet(shown_), *other = new QBarSet(other_);
        for (const ChartPart& part : upward) {
            *shown << part.value;
            *other << part.other;
        }
        paint(shown, theme.accent);
        paint(other, otherColour(theme));
        series->append(other);
        series->append(shown);
        series->setBarWidth(pairWidth);
    } else {
        // A set a part, so that each has its colour; in the other parts' lines a set is nothing.
        series = new QHorizontalStackedBarSeries;
        for (std::size_t i = 0; i < upward.size(); ++i) {
            auto* set = new QBarSet(upward[i].name);
            for (std::size_t line = 0; line < upward.size(); ++line) *set << (line == i ? upward[i].value : 0);
            paint(set, upward[i].colour(theme));
            series->append(set);
        }
        series->setBarWidth(barWidth);
    }
    chart.addSeries(series);
    auto* lines = new QBarCategoryAxis;
    lines->append(names);
    lines->setVisible(false);
    auto* values = new QValueAxis;
    values->setRange(0, most > 0 ? most : 1);
    values->setVisible(false);
    chart.addAxis(lines, Qt::AlignLeft);
    chart.addAxis(values, Qt::AlignBottom);
    series->attachAxis(lines);
    series->attachAxis(values);
}

double PartBars::linesWidth() const {
    double wide = 0;
    for (const double column : columnWidths()) wide += column + columnGap;
    return std::max(80.0, std::min({wide, width() * namesShare, width() - leastPlot}));
}

QRectF PartBars::linesArea() const {
    return {4, linesTop(), linesWidth(), static_cast<double>(parts().size()) * lineHeight};
}

QRectF PartBars::plotArea() const {
    const QRectF lines = linesArea();
    return {lines.right() + 10, lines.top(), std::max(1.0, width() - lines.right() - 16), lines.height()};
}

int PartBars::partInPlot(const QPointF& at) const {
    const int line = static_cast<int>((at.y() - linesTop()) / lineHeight);
    return line >= 0 && line < static_cast<int>(parts().size()) ? line : -1;
}

void PartBars::paintMore(QPainter& painter, const Theme& theme) const {
    const QRectF plot = plotArea();
    painter.fillRect(QRectF(plot.left() - 1, plot.top(), 1, plot.height()), theme.line);
    if (!isCompared()) return;
    painter.setFont(lineFont());
    const QFontMetricsF metrics(painter.font());
    double left = plot.left();
    for (const bool shown : {true, false}) {
        const QString& name = shown ? shown_ : other_;
        painter.setPen(Qt::NoPen);
        painter.setBrush(shown ? theme.accent : otherColour(theme));
        painter.drawRoundedRect(QRectF(left, (lineHeight - swatch) / 2.0, swatch, swatch), 2, 2);
        painter.setPen(theme.muted);
        painter.drawText(QRectF(left + swatch + 6, 0, metrics.horizontalAdvance(name) + 1, lineHeight),
                         Qt::AlignLeft | Qt::AlignVCenter, name);
        left += swatch + 6 + metrics.horizontalAdvance(name) + columnGap;
    }
}

int PartBars::pictureHeight() const { return (static_cast<int>(parts().size()) + (isCompared() ? 1 : 0)) * lineHeight; }

QStringList PartBars::valueHeaders() const {
    if (!isCompared()) return {unit_};
    return {QStringLiteral("%1, %2").arg(shown_, unit_), QStringLiteral("%1, %2").arg(other_, unit_)};
}

}  // namespace plimsoll::ui
