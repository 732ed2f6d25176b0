// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/curve_view.h"

#include <algorithm>
#include <QPainter>

#include "ui/common/separated_text.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

CurveView::CurveView(const QString& name, QWidget* parent) : Chart(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(name);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void CurveView::setCurve(QPolygonF points, const QString& top, const QString& bottom, const QString& start,
                         const QString& end) {
    points_ = std::move(points);
    top_ = top;
    bottom_ = bottom;
    start_ = start;
    end_ = end;
    setAccessibleDescription(tr("from %1 to %2, between %3 and %4").arg(start, end, bottom, top));
    update();
}

void CurveView::paintEvent(QPaintEvent*) {
    const Theme& theme = Theme::of(palette());
    QPainter painter(this);
    painter.setFont(uiFont(-0.75));
    const QFontMetricsF metrics(painter.font());
    const double left = std::max(metrics.horizontalAdvance(top_), metrics.horizontalAdvance(bottom_)) + 10;
    const QRectF frame(left, 8, width() - left - 4, height() - 8 - 22);
    painter.setPen(theme.line);
    for (const double share : {0.0, 0.5, 1.0}) {
        const double y = std::round(frame.top() + frame.height() * share) + 0.5;
        painter.drawLine(QPointF(frame.left(), y), QPointF(frame.right(), y));
    }
    painter.setPen(theme.muted);
    painter.drawText(QRectF(0, frame.top() - 8, left - 8, 16), Qt::AlignRight | Qt::AlignVCenter, top_);
    painter.drawText(QRectF(0, frame.bottom() - 8, left - 8, 16), Qt::AlignRight | Qt::AlignVCenter, bottom_);
    const QRectF axis(frame.left(), frame.bottom() + 4, frame.width(), 18);
    painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter, start_);
    painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, end_);
    if (points_.size() < 2) return;

    const double first = points_.first().x();
    const double span = std::max(points_.last().x() - first, 1e-300);
    double most = 0;
    for (const QPointF& point : std::as_const(points_)) most = std::max(most, point.y());
    if (most <= 0) return;
    QPolygonF line;
    for (const QPointF& point : std::as_const(points_))
        line << QPointF(frame.left() + frame.width() * (point.x() - first) / span,
                        frame.bottom() - frame.height() * point.y() / most);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.category[0], 1.5));
    painter.drawPolyline(line);
    paintFocus(painter);
}

void CurveView::writeTable(TableText& table) const {
    table.addRow({horizontal_.isEmpty() ? tr("step") : horizontal_, accessibleName()});
    for (const QPointF& point : points_) {
        table.add(point.x());
        table.add(point.y());
        table.endRow();
    }
}

}  // namespace plimsoll::ui
