// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/pareto_plot.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "ui/common/separated_text.h"
#include "ui/common/value_format.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double reach = 9, radius = 3, frontRadius = 4.5;
constexpr Bytes farAbove = 4;  // times the largest layout: the line of usable memory is told in words
constexpr double logFrom = 5;  // a wider range of times gets a log scale

ValueAxis timeAxis(const std::vector<ParetoPoint>& points, const std::optional<ParetoPoint>& present) {
    double low = 1e300, high = 0;
    const auto take = [&](const ParetoPoint& point) {
        low = std::min(low, point.step);
        high = std::max(high, point.step);
    };
    for (const ParetoPoint& point : points) take(point);
    if (present) take(*present);
    if (high <= 0 || low <= 0) return {ValueKind::Seconds, Scale::Linear, 0, 1};
    return {ValueKind::Seconds, high > logFrom * low ? Scale::Log10 : Scale::Linear, low, high};
}

ValueAxis memoryAxis(const std::vector<ParetoPoint>& points, const std::optional<ParetoPoint>& present, Bytes usable) {
    Bytes high = 1;
    for (const ParetoPoint& point : points) high = std::max(high, point.peak);
    // Where every layout is small beside the GPU's memory, its line would squeeze them onto the ground.
    if (points.empty() || usable <= farAbove * high) high = std::max(high, usable);
    // A layout far beyond the card would flatten all layouts that fit.
    if (present) high = std::max(high, std::min(present->peak, 2 * high));
    return {ValueKind::Bytes, Scale::Linear, 0, static_cast<double>(high)};
}

}  // namespace

ParetoPlot::ParetoPlot(QWidget* parent) : Chart(parent), time_(timeAxis({}, {})), memory_(memoryAxis({}, {}, 0)) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Memory against step time"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
}

void ParetoPlot::setPoints(std::vector<ParetoPoint> points, std::optional<ParetoPoint> present, Bytes usable) {
    points_ = std::move(points);
    present_ = std::move(present);
    usable_ = usable;
    hovered_ = -1;
    if (current_ >= static_cast<int>(points_.size())) current_ = -1;
    by_time_.resize(points_.size());
    std::iota(by_time_.begin(), by_time_.end(), 0);
    std::sort(by_time_.begin(), by_time_.end(), [this](int a, int b) {
        return points_[static_cast<std::size_t>(a)].step < points_[static_cast<std::size_t>(b)].step;
    });
    time_ = timeAxis(points_, present_);
    memory_ = memoryAxis(points_, present_, usable_);
    const auto front =
        std::count_if(points_.begin(), points_.end(), [](const ParetoPoint& point) { return point.front; });
    setAccessibleDescription(
        points_.empty() ? empty_text_ : tr("%1 layouts, %2 of them on the front").arg(points_.size()).arg(front));
    update();
}

void ParetoPlot::setStale(bool stale) {
    if (stale == stale_) return;
    stale_ = stale;
    update();
}

void ParetoPlot::setEmptyText(const QString& text) {
    empty_text_ = text;
    update();
}

void ParetoPlot::setCurrent(int index) {
    if (index == current_) return;
    current_ = index;
    update();
}

QRectF ParetoPlot::area() const {
    const QFontMetricsF metrics(uiFont(-0.75));
    return QRectF(rect()).adjusted(metrics.horizontalAdvance(QStringLiteral("888.8 GiB")) + 8, 8, -10,
                                   -metrics.height() - 8);
}

QPointF ParetoPlot::place(const ParetoPoint& point) const {
    const QRectF all = area();
    const double y = std::clamp(memory_.position(static_cast<double>(point.peak)), 0.0, 1.0);
    return {all.left() + all.width() * time_.position(point.step), all.bottom() - all.height() * y};
}

int ParetoPlot::pointAt(const QPointF& at) const {
    int nearest = -1;
    double least = reach;
    for (std::size_t i = 0; i < points_.size(); ++i) {
        const QPointF off = place(points_[i]) - at;
        // Of two points under the pointer, the one on the front counts.
        const double distance = std::hypot(off.x(), off.y()) - (points_[i].front ? 1.5 : 0);
        if (distance >= least) continue;
        least = distance;
        nearest = static_cast<int>(i);
    }
    return nearest;
}

QString ParetoPlot::words(const ParetoPoint& point) const {
    return QStringLiteral("<p style='margin:0'><b>%1</b></p><p style='margin:2px 0 0 0'>%2</p>")
        .arg(point.name.toHtmlEscaped(), tr("%1 GPUs · %2 per step · %3")
                                             .arg(countText(point.gpus), formatValue(ValueKind::Seconds, point.step),
                                                  usable_ > 0 ? partOf(point.peak, usable_) : bytesText(point.peak)));
}

void ParetoPlot::paintGrid(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF all = area();
    painter.setFont(uiFont(-0.75));
    const double height = QFontMetricsF(painter.font()).height();
    for (const Tick& tick : memory_.ticks(std::max(2, static_cast<int>(all.height() / 45)))) {
        const double y = std::round(all.bottom() - all.height() * memory_.position(tick.value)) + 0.5;
        painter.setPen(theme.line);
        painter.drawLine(QPointF(all.left(), y), QPointF(all.right(), y));
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, y - height / 2, all.left() - 8, height), Qt::AlignRight | Qt::AlignVCenter,
                         tick.label);
    }
    for (const Tick& tick : time_.ticks(std::max(2, static_cast<int>(all.width() / 90)))) {
        const double x = all.left() + all.width() * time_.position(tick.value);
        painter.setPen(theme.muted);
        // A label at either end is moved inwards, so that it stays whole.
        const double wide = QFontMetricsF(painter.font()).horizontalAdvance(tick.label);
        const double left = std::clamp(x - wide / 2, 0.0, std::max(0.0, width() - wide));
        painter.drawText(QRectF(left, all.bottom() + 4, wide + 1, height), Qt::AlignLeft | Qt::AlignVCenter,
                         tick.label);
    }
    if (usable_ <= 0) return;
    const double y = std::round(all.bottom() - all.height() * memory_.position(static_cast<double>(usable_)));
    if (y < all.top() - 1) {
        painter.setPen(theme.water);
        painter.drawText(QRectF(all.left(), all.top(), all.width() - 2, height), Qt::AlignRight | Qt::AlignVCenter,
                         tr("usable %1, far above").arg(bytesText(usable_)));
        return;
    }
    painter.setPen(QPen(theme.water, 2));
    painter.drawLine(QPointF(all.left(), y), QPointF(all.right(), y));
    const QString text = tr("usable %1").arg(bytesText(usable_));
    const double above = y - height - 2 >= 0 ? y - height - 2 : y + 2;
    painter.drawText(QRectF(all.left(), above, all.width() - 2, height), Qt::AlignRight | Qt::AlignVCenter, text);
}

void ParetoPlot::paintFront(QPainter& painter) const {
    std::map<std::int64_t, QPolygonF> lines;
    for (const int index : by_time_) {
        const ParetoPoint& point = points_[static_cast<std::size_t>(index)];
        if (point.front) lines[point.gpus] << place(point);
    }
    painter.setPen(QPen(Theme::of(palette()).accent, 1.5));
    for (const auto& [gpus, line] : lines) painter.drawPolyline(line);
}

void ParetoPlot::paintPoints(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    QColor plain = theme.muted;
    plain.setAlphaF(0.55F);
    painter.setPen(Qt::NoPen);
    for (const bool front : {false, true})
        for (const ParetoPoint& point : points_) {
            if (point.front != front) continue;
            painter.setBrush(front ? theme.accent : plain);
            const double size = front ? frontRadius : radius;
            painter.drawEllipse(place(point), size, size);
        }
    painter.setBrush(Qt::NoBrush);
    if (present_) {
        const QPointF at = place(*present_);
        painter.setPen(QPen(theme.ink, 1.5));
        painter.drawLine(at - QPointF(6, 0), at + QPointF(6, 0));
        painter.drawLine(at - QPointF(0, 6), at + QPointF(0, 6));
        painter.setFont(uiFont(-0.75));
        const QString text = tr("the plan");
        const double wide = QFontMetricsF(painter.font()).horizontalAdvance(text) + 4;
        const bool left = at.x() + 8 + wide > area().right();
        painter.drawText(QRectF(left ? at.x() - 8 - wide : at.x() + 8, at.y() - 9, wide, 18), Qt::AlignCenter, text);
    }
    for (const int index : {hovered_, current_}) {
        if (index < 0) continue;
        painter.setPen(QPen(theme.ink, index == current_ ? 2 : 1));
        painter.drawEllipse(place(points_[static_cast<std::size_t>(index)]), frontRadius + 3, frontRadius + 3);
    }
}

void ParetoPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (points_.empty()) {
        painter.setPen(Theme::of(palette()).muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        return;
    }
    paintGrid(painter);
    painter.setRenderHint(QPainter::Antialiasing);
    if (stale_) painter.setOpacity(0.4);
    paintFront(painter);
    paintPoints(painter);
    painter.setOpacity(1);
    paintFocus(painter);
}

bool ParetoPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return Chart::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int index = pointAt(help->pos());
    if (index >= 0)
        QToolTip::showText(help->globalPos(), words(points_[static_cast<std::size_t>(index)]), this);
    else if (present_ && (place(*present_) - help->pos()).manhattanLength() < reach)
        QToolTip::showText(help->globalPos(), words(*present_), this);
    else
        QToolTip::hideText();
    return true;
}

void ParetoPlot::mouseMoveEvent(QMouseEvent* event) {
    const int index = pointAt(event->position());
    if (index == hovered_) return;
    hovered_ = index;
    setCursor(index >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    update();
}

void ParetoPlot::mousePressEvent(QMouseEvent* event) {
    const int index = pointAt(event->position());
    if (event->button() == Qt::LeftButton && index >= 0) emit chosen(index);
}

void ParetoPlot::leaveEvent(QEvent* event) {
    Chart::leaveEvent(event);
    hovered_ = -1;
    update();
}

void ParetoPlot::keyPressEvent(QKeyEvent* event) {
    const int by = event->key() == Qt::Key_Left ? -1 : event->key() == Qt::Key_Right ? 1 : 0;
    if (by == 0 || by_time_.empty()) return Chart::keyPressEvent(event);
    const auto now = std::find(by_time_.begin(), by_time_.end(), current_);
    const auto last = static_cast<std::ptrdiff_t>(by_time_.size()) - 1;
    const std::ptrdiff_t next =
        now == by_time_.end() ? 0 : std::clamp<std::ptrdiff_t>(now - by_time_.begin() + by, 0, last);
    emit chosen(by_time_[static_cast<std::size_t>(next)]);
}

void ParetoPlot::writeTable(TableText& table) const {
    table.addRow({tr("layout"), tr("GPUs"), tr("step, s"), tr("peak, bytes"), tr("on the Pareto front")});
    for (const ParetoPoint& point : points_) {
        table.add(point.name);
        table.add(QString::number(point.gpus));
        table.add(point.step);
        table.add(QString::number(point.peak));
        table.add(point.front ? QStringLiteral("1") : QStringLiteral("0"));
        table.endRow();
    }
}

}  // namespace plimsoll::ui
