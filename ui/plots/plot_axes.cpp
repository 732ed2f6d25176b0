// SPDX-License-Identifier: GPL-3.0-or-later
// The still part of a plot: grid, labels, legend, levels and the planned curve.
#include <algorithm>
#include <cmath>
#include <limits>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPolygonF>

#include "ui/plots/plot_painter.h"

namespace plimsoll::ui {

namespace {

constexpr double liveRadius = 4.5;

struct AxisWords {
    Q_DECLARE_TR_FUNCTIONS(Plot)
};

}  // namespace

void PlotPainter::paintGrid(QPainter& painter) const {
    const QFontMetricsF metrics(font_);
    const int count = std::clamp(static_cast<int>(frame_.height() / (metrics.height() * 2)), 3, 5);
    double free_from = std::numeric_limits<double>::infinity();  // labels go upwards and must not touch
    for (const Tick& tick : values_->ticks(count)) {
        const double y = std::round(yOf(tick.value) * ratio_) / ratio_;
        if (y < frame_.top() - 1 || y > frame_.bottom() + 1) continue;
        painter.fillRect(QRectF(frame_.left(), y, frame_.width(), 1), theme_.line);
        if (y > free_from) continue;
        free_from = y - metrics.height();
        painter.setPen(theme_.muted);
        painter.drawText(QRectF(0, y - metrics.height(), frame_.left() - 7, 2 * metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter, tick.label);
    }
    painter.fillRect(QRectF(frame_.left(), frame_.bottom(), frame_.width(), 1), theme_.line);
}

void PlotPainter::paintSteps(QPainter& painter) const {
    const QFontMetricsF metrics(font_);
    const QString latest_text = AxisWords::tr("step %1").arg(formatStep(axis_.latest()));
    const auto box = [&](double step, const QString& label) {
        const double width = metrics.horizontalAdvance(label);
        const double left = std::clamp(xOf(step) - width / 2, frame_.left() - 8, frame_.right() + 6 - width);
        return QRectF(left, frame_.bottom() + 4, width, metrics.height());
    };
    // The latest step matters most: its label goes first, and ticks that would touch it are left out.
    std::vector<QRectF> taken;
    if (has_data_ && axis_.latest() > range_.from && axis_.latest() <= range_.to) {
        taken.push_back(box(axis_.latest(), latest_text));
        painter.setPen(theme_.ink);
        painter.drawText(taken.back(), Qt::AlignCenter | Qt::TextDontClip, latest_text);
    }
    painter.setPen(theme_.muted);
    const auto place = [&](double step) {
        const QString label = formatStep(step);
        const QRectF at = box(step, label);
        for (const QRectF& other : taken)
            if (at.adjusted(-8, 0, 8, 0).intersects(other)) return;
        taken.push_back(at);
        painter.drawText(at, Qt::AlignCenter | Qt::TextDontClip, label);
    };
    // The end of the range gets a label; the tick before it only when there is a whole distance between.
    const std::vector<double> nice =
        niceValues(range_.from, range_.to, std::max(2, static_cast<int>(frame_.width() / 90)));
    const double distance = nice.size() > 1 ? nice[1] - nice[0] : 0;
    const bool named_end = range_.to == std::round(range_.to);
    if (named_end) place(range_.to);
    for (const double step : nice)
        if (step == std::round(step) && (!named_end || range_.to - step > 0.99 * distance)) place(step);
}

void PlotPainter::paintLegend(QPainter& painter) const {
    if (content_.lines.size() < 2) return;
    const QFontMetricsF metrics(font_);
    const double top = frame_.top() - metrics.height() - 1;
    double x = frame_.left();
    for (const PlotLine& line : content_.lines) {
        const double width = metrics.horizontalAdvance(line.name);
        if (x + 11 + width > frame_.right() + 8) break;
        painter.fillRect(QRectF(x, top + metrics.height() / 2 - 1, 8, 2), inkOf(line));
        painter.setPen(theme_.muted);
        painter.drawText(QRectF(x + 11, top, width + 1, metrics.height()),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, line.name);
        x += width + 23;
    }
}

void PlotPainter::paintLevels(QPainter& painter) const {
    const QFontMetricsF metrics(font_);
    for (const PlotLevel& level : content_.levels) {
        const double top = yOf(level.high);
        if (level.high > level.low) {
            QColor fill = colour(level.category);
            fill.setAlphaF(0.14F);
            painter.fillRect(QRectF(QPointF(frame_.left(), top), QPointF(frame_.right(), yOf(level.low))), fill);
        } else {
            QPen pen(theme_.muted, 1);
            pen.setDashPattern({4, 3});
            painter.setPen(pen);
            painter.drawLine(QPointF(frame_.left(), std::round(top) + 0.5),
                             QPointF(frame_.right(), std::round(top) + 0.5));
        }
        painter.setPen(theme_.muted);
        const double y = top - metrics.height() - 1 >= frame_.top() ? top - metrics.height() - 1 : top + 1;
        painter.drawText(QRectF(frame_.left(), y, frame_.width() - 4, metrics.height()), Qt::AlignRight, level.name);
    }
}

void PlotPainter::paintPlanned(QPainter& painter) const {
    if (!content_.planned) return;
    const double from = std::max(range_.from, has_data_ ? axis_.latest() : 0.0);
    if (from >= range_.to) return;
    QPen pen(theme_.muted, 1.2);
    pen.setDashPattern({4, 3});
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(pen);
    // A warm-up's corner is sharper than the spacing would show: 2 px apart is enough, and one path keeps its dashes.
    QPolygonF path;
    for (double x = xOf(from); x < frame_.right(); x += 2) path << QPointF(x, yOf(content_.planned(stepAt(x))));
    path << QPointF(frame_.right(), yOf(content_.planned(range_.to)));
    painter.drawPolyline(path);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void PlotPainter::paintLivePoint(QPainter& painter) const {
    if (!content_.planned || content_.lines.empty() || !content_.lines[0].data) return;
    const Pyramid* data = content_.lines[0].data();
    if (data == nullptr || data->size() == 0) return;
    const auto step = static_cast<double>(data->step(data->size() - 1));
    const double value = data->value(data->size() - 1);
    // A finished run has no current point on its course.
    if (!std::isfinite(value) || step >= axis_.whole().to || step < range_.from || step > range_.to) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme_.surface, 1));
    painter.setBrush(inkOf(content_.lines[0]));
    painter.drawEllipse(QPointF(xOf(step), yOf(value)), liveRadius, liveRadius);
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace plimsoll::ui
