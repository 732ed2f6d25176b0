// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/live_view.h"

#include <algorithm>
#include <cmath>
#include <QPainter>

#include "ui/common/separated_text.h"
#include "ui/pipeline/pipeline_words.h"
#include "ui/widgets/style_sheet.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr std::size_t mostLines = 16;  // more lines run into each other
constexpr double head = 18;            // room for labels over the curves

}  // namespace

LiveView::LiveView(QWidget* parent) : TimeChart(tr("Live activations"), parent) {}

void LiveView::setCurves(MemoryCurve curves, double limit, const QString& limitText) {
    curves_ = std::move(curves);
    limit_ = limit;
    limit_text_ = limitText;
    fullest_ =
        static_cast<std::size_t>(std::max_element(curves_.peak.begin(), curves_.peak.end()) - curves_.peak.begin());
    if (!curves_.ranks.empty())
        setAccessibleDescription(
            tr("Rank %1 keeps the most: %2 micro-batches").arg(fullest_).arg(batchesText(curves_.peak[fullest_])));
    update();
}

double LiveView::top() const { return std::max({1.0, limit_, curves_.ranks.empty() ? 0.0 : curves_.peak[fullest_]}); }

double LiveView::yOf(double alive) const {
    const double bottom = height() - axisHeight;
    return bottom - (bottom - head) * alive / top();
}

QPolygonF LiveView::lineOf(const std::vector<MemoryPoint>& points) const {
    // A few points a pixel at most: the highest and the lowest of the pixel's values.
    const auto first = std::partition_point(points.begin(), points.end(),
                                            [this](const MemoryPoint& point) { return point.time <= span()->from(); });
    double alive = first == points.begin() ? 0 : std::prev(first)->micro_batches;
    QPolygonF line{QPointF(plotArea().left(), yOf(alive))};
    for (auto point = first; point != points.end() && point->time < span()->to();) {
        const double x = std::floor(xOf(point->time));
        line << QPointF(x, yOf(alive));
        double low = alive, high = alive;
        for (; point != points.end() && xOf(point->time) < x + 1; ++point) {
            alive = point->micro_batches;
            low = std::min(low, alive);
            high = std::max(high, alive);
        }
        line << QPointF(x, yOf(high)) << QPointF(x, yOf(low)) << QPointF(x, yOf(alive));
    }
    return line << QPointF(plotArea().right(), yOf(alive));
}

void LiveView::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (curves_.ranks.empty()) return;
    const Theme& theme = Theme::of(palette());
    const QRectF area = plotArea();
    painter.setFont(uiFont(-0.75));
    painter.fillRect(QRectF(area.left(), yOf(0), area.width(), 1), theme.line);
    painter.setPen(theme.muted);
    for (const double value : {0.0, top()})
        painter.drawText(QRectF(0, yOf(value) - 8, area.left() - 8, 16), Qt::AlignLeft | Qt::AlignVCenter,
                         batchesText(value));

    painter.setClipRect(area.adjusted(0, 0, 1, 0));
    painter.setPen(QPen(mixed(theme.surface, theme.muted, curves_.ranks.size() > 16 ? 0.3 : 0.6), 1));
    const std::size_t every = (curves_.ranks.size() + mostLines - 1) / mostLines;
    for (std::size_t rank = 0; rank < curves_.ranks.size(); rank += every)
        if (rank != fullest_) painter.drawPolyline(lineOf(curves_.ranks[rank]));
    QPolygonF line = lineOf(curves_.ranks[fullest_]);
    QPolygonF filled = line;
    filled << QPointF(line.back().x(), yOf(0)) << QPointF(line.front().x(), yOf(0));
    QColor tint = theme.accent;
    tint.setAlphaF(0.14F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(tint);
    painter.drawPolygon(filled);
    painter.setPen(QPen(theme.accent, 2));
    painter.drawPolyline(line);
    painter.setClipping(false);

    painter.setPen(theme.accent);
    painter.drawText(QRectF(area.left() + 4, 0, area.width(), head - 2), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("Live activations, in micro-batches · rank %1 peaks at %2")
                         .arg(fullest_)
                         .arg(batchesText(curves_.peak[fullest_])));
    if (limit_ > 0) {
        painter.setPen(QPen(theme.warn, 1, Qt::DashLine));
        painter.drawLine(QPointF(area.left(), yOf(limit_)), QPointF(area.right(), yOf(limit_)));
        painter.setPen(theme.warn);
        painter.drawText(QRectF(area.right() + 4, yOf(limit_) - 8, width() - area.right() - 4, 16),
                         Qt::AlignRight | Qt::AlignVCenter, limit_text_);
    }
    paintAxis(painter);
    paintFocus(painter);
}

void LiveView::writeTable(TableText& table) const {
    table.addRow({tr("rank"), tr("time"), tr("micro-batches alive")});
    for (std::size_t rank = 0; rank < curves_.ranks.size(); ++rank)
        for (const MemoryPoint& point : curves_.ranks[rank]) {
            table.add(QString::number(rank));
            table.add(point.time);
            table.add(point.micro_batches);
            table.endRow();
        }
}

}  // namespace plimsoll::ui
