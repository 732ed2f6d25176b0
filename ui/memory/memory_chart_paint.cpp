// SPDX-License-Identifier: GPL-3.0-or-later
// Draws memory over time. A pixel's column shows the fullest of its points, so that no peak is lost.
#include <algorithm>
#include <cmath>
#include <QPainter>

#include "ui/common/value_format.h"
#include "ui/memory/memory_chart.h"
#include "ui/waterline/waterline_data.h"
#include "ui/widgets/style_sheet.h"
#include "ui/widgets/theme.h"

namespace plimsoll::ui {

namespace {

constexpr double phaseBand = 18, aboveFrame = 12, belowPhases = 20;
constexpr double leastNamed = 34;  // pixels that a phase's name needs

QColor phaseColour(const Theme& theme, const std::string& name) {
    if (name.rfind("forward", 0) == 0) return mixed(theme.surface, theme.category[0], 0.28);
    if (name.rfind("backward", 0) == 0) return mixed(theme.surface, theme.category[2], 0.28);
    return mixed(theme.surface, theme.category[1], 0.28);
}

}  // namespace

QRectF MemoryChart::plotArea() const {
    // Measured once, because every mapped pixel asks for it.
    if (scale_width_ == 0) scale_width_ = QFontMetricsF(uiFont(-0.75)).horizontalAdvance(bytesText(888 * GiB)) + 10;
    return {scale_width_, 0, std::max(20.0, width() - scale_width_ - 8), static_cast<double>(height())};
}

QRectF MemoryChart::frame() const {
    const QRectF area = plotArea();
    return {area.left(), aboveFrame, area.width(), std::max(40.0, height() - aboveFrame - phaseBand - belowPhases)};
}

double MemoryChart::yOf(Bytes bytes) const {
    const QRectF area = frame();
    return area.bottom() - area.height() * static_cast<double>(bytes) / static_cast<double>(std::max<Bytes>(top_, 1));
}

double MemoryChart::endOfPhase(std::size_t phase) const {
    return phase + 1 < timeline_->phases.size() ? static_cast<double>(timeline_->phases[phase + 1].event)
                                                : static_cast<double>(timeline_->events);
}

void MemoryChart::draw() {
    const qreal ratio = devicePixelRatioF();
    picture_ = QImage((QSizeF(size()) * ratio).toSize(), QImage::Format_ARGB32_Premultiplied);
    picture_.setDevicePixelRatio(ratio);
    picture_.fill(Qt::transparent);
    QPainter painter(&picture_);
    paintScale(painter);
    paintAreas(painter);
    paintReserved(painter);
    paintPhases(painter);
    stale_ = false;
}

void MemoryChart::paintAreas(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF area = frame();
    const MemoryTimeline& t = *timeline_;
    const int left = static_cast<int>(std::ceil(area.left())), right = static_cast<int>(area.right());
    std::size_t shown = t.event.size();
    int from = left;
    const auto flush = [&](int to) {
        if (shown >= t.event.size() || to <= from) return;
        Bytes below = 0;
        for (std::size_t c = 0; c < memory_categories; ++c) {
            const double bottom = yOf(below);
            below += t.live[shown][c];
            const double y = yOf(below);
            if (bottom > y) painter.fillRect(QRectF(from, y, to - from, bottom - y), theme.category[c]);
        }
    };
    for (int x = left; x < right; ++x) {
        std::size_t fullest = pointOfEvent(timeAt(x));
        const std::size_t last = pointOfEvent(std::nextafter(timeAt(x + 1), 0.0));
        for (std::size_t i = fullest + 1; i <= last; ++i)
            if (t.live_at(i) > t.live_at(fullest)) fullest = i;
        // Neighbouring columns of one point become one rectangle.
        if (fullest == shown) continue;
        flush(x);
        shown = fullest;
        from = x;
    }
    flush(right);
}

void MemoryChart::paintReserved(QPainter& painter) const {
    const MemoryTimeline& t = *timeline_;
    if (t.reserved.empty()) return;
    const QRectF area = frame();
    QPolygonF line;
    for (int x = static_cast<int>(std::ceil(area.left())); x < static_cast<int>(area.right()); ++x) {
        const std::size_t last = pointOfEvent(timeAt(x + 1));
        Bytes most = 0;
        for (std::size_t i = pointOfEvent(timeAt(x)); i <= last; ++i) most = std::max(most, t.reserved[i]);
        line << QPointF(x + 0.5, yOf(most));
    }
    painter.setPen(QPen(Theme::of(palette()).ink, 1.5));
    painter.drawPolyline(line);
}

void MemoryChart::paintScale(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF area = frame();
    painter.setFont(uiFont(-0.75));
    // Whole units of the axis, three to six of them.
    const Unit unit = unitFor(ValueKind::Bytes, static_cast<double>(top_));
    const double units = static_cast<double>(top_) / unit.size;
    double step = std::pow(10, std::floor(std::log10(units / 3)));
    for (const double factor : {1.0, 2.0, 5.0, 10.0})
        if (units / (step * factor) <= 6) {
            step *= factor;
            break;
        }
    for (double value = 0; value <= units * 1.0001; value += step) {
        const double y = std::round(yOf(static_cast<Bytes>(value * unit.size))) + 0.5;
        painter.setPen(theme.line);
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(theme.muted);
        painter.drawText(QRectF(0, y - 8, area.left() - 8, 16), Qt::AlignRight | Qt::AlignVCenter,
                         bytesText(static_cast<Bytes>(value * unit.size)));
    }
}

void MemoryChart::paintPhases(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF area = frame();
    painter.setFont(uiFont(-1));
    painter.setClipRect(QRectF(area.left(), 0, area.width(), height()));
    const double top = area.bottom() + 2;
    for (std::size_t p = 0; p < timeline_->phases.size(); ++p) {
        const TimelinePhase& phase = timeline_->phases[p];
        const double from = xOf(static_cast<double>(phase.event)), to = xOf(endOfPhase(p));
        if (to < area.left() || from > area.right() || to <= from) continue;
        const QRectF band(from, top, std::max(1.0, to - from), phaseBand - 2);
        painter.fillRect(band, phaseColour(theme, phase.name));
        if (to - from > 3) {
            painter.setPen(theme.surface);
            painter.drawLine(band.topLeft(), band.bottomLeft());
        }
        const QRectF seen = band.intersected(QRectF(area.left(), top, area.width(), phaseBand));
        if (seen.width() < leastNamed) continue;
        painter.setPen(theme.ink);
        painter.drawText(seen.adjusted(4, 0, -2, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(QString::fromStdString(phase.name), Qt::ElideRight,
                                                          static_cast<int>(seen.width()) - 6));
    }
    painter.setClipping(false);
    painter.setFont(uiFont(-0.75));
    painter.setPen(theme.muted);
    const QRectF axis(area.left(), top + phaseBand, area.width(), belowPhases - 4);
    painter.drawText(axis, Qt::AlignLeft | Qt::AlignVCenter,
                     tr("event %1").arg(countText(std::llround(span()->from()))));
    painter.drawText(axis, Qt::AlignRight | Qt::AlignVCenter, countText(std::llround(span()->to())));
}

void MemoryChart::paintMarks(QPainter& painter) const {
    const Theme& theme = Theme::of(palette());
    const QRectF area = frame();
    painter.setFont(uiFont(-0.75, true));
    if (usable_ > 0 && usable_ <= top_) {
        const double y = std::round(yOf(usable_));
        painter.setPen(QPen(theme.water, 2));
        painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        painter.setPen(theme.water);
        painter.drawText(QRectF(area.left() + 6, y + 3, 240, 16), Qt::AlignLeft | Qt::AlignVCenter,
                         tr("usable %1").arg(bytesText(usable_)));
    }
    const double peak = xOf(static_cast<double>(timeline_->peak_event));
    if (peak >= area.left() && peak <= area.right()) {
        painter.setPen(QPen(theme.ink, 1, Qt::DotLine));
        painter.drawLine(QPointF(peak, yOf(timeline_->peak) - 6), QPointF(peak, area.bottom()));
        const QString text = tr("peak %1").arg(bytesText(timeline_->peak));
        const double wide = painter.fontMetrics().horizontalAdvance(text) + 8;
        const double x = std::clamp(peak - wide / 2, area.left(), area.right() - wide);
        const QRectF label(x, std::max(0.0, yOf(timeline_->peak) - 20), wide, 16);
        painter.fillRect(label, mixed(theme.surface, theme.ink, 0.06));
        painter.setPen(theme.ink);
        painter.drawText(label, Qt::AlignCenter, text);
    }
    if (hovered_) {
        const double x = xOf(static_cast<double>(timeline_->event[*hovered_]));
        if (x < area.left() || x > area.right()) return;
        painter.setPen(QPen(theme.ink, 1));
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom() + phaseBand));
    }
}

void MemoryChart::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!timeline_) {
        painter.setPen(Theme::of(palette()).muted);
        painter.drawText(rect(), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
        paintFocus(painter);
        return;
    }
    if (stale_ || picture_.devicePixelRatioF() != devicePixelRatioF()) draw();
    if (dimmed_) painter.setOpacity(0.45);
    painter.drawImage(QPointF(0, 0), picture_);
    paintMarks(painter);
    painter.setOpacity(1);
    paintFocus(painter);
}

}  // namespace plimsoll::ui
