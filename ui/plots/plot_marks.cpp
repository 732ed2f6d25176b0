// SPDX-License-Identifier: GPL-3.0-or-later
// The marks on a plot: flags, values without a place on the axis, and the cursor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPolygonF>

#include "ui/plots/plot_painter.h"

namespace plimsoll::ui {

namespace {

struct MarkWords {
    Q_DECLARE_TR_FUNCTIONS(Plot)
};

}  // namespace

void PlotPainter::paintFlags(QPainter& painter) const {
    const QFontMetricsF metrics(font_);
    const auto ink = [&](Tone tone) {
        return tone == Tone::Bad ? theme_.water : tone == Tone::Warn ? theme_.warn : theme_.muted;
    };
    const auto begin = std::lower_bound(content_.flags.begin(), content_.flags.end(), range_.from,
                                        [](const PlotFlag& f, double step) { return f.step < step; });
    std::vector<QRectF> taken;
    // The gravest first: their labels get the room. Hundreds of flags would hide the line: one every 3 px.
    for (const Tone tone : {Tone::Bad, Tone::Warn, Tone::Muted}) {
        double drawn_to = -1e30;
        for (auto flag = begin; flag != content_.flags.end() && flag->step <= range_.to; ++flag) {
            const double x = std::floor(xOf(flag->step)) + 0.5;
            if (flag->tone != tone || x < drawn_to + 3) continue;
            drawn_to = x;
            QPen pen(ink(tone), 1);
            pen.setDashPattern({2, 2});
            painter.setPen(pen);
            painter.drawLine(QPointF(x, frame_.top()), QPointF(x, frame_.bottom()));
            const double width = metrics.horizontalAdvance(flag->label);
            const double left = x + 4 + width <= frame_.right() ? x + 4 : x - 4 - width;
            const QRectF label(left, frame_.top() - 1, width + 2, metrics.height());
            if (std::any_of(taken.begin(), taken.end(), [&](const QRectF& t) { return t.intersects(label); })) continue;
            taken.push_back(label.adjusted(-5, 0, 3, 0));
            painter.drawText(label, Qt::AlignLeft | Qt::TextDontClip, flag->label);
        }
    }
}

void PlotPainter::paintMarks(QPainter& painter) const {
    // NaN and infinities have no place on the axis: a mark at the upper edge, and a name where there is room.
    const QFontMetricsF metrics(font_);
    double free_from = -1e30;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Drawn& drawn : drawn_) {
        double marked_to = -1e30;
        for (std::size_t i = 0; i < drawn.columns.size(); ++i) {
            const Column& c = drawn.columns[i];
            if (!c.has_nan && !c.has_inf) continue;
            const double x = frame_.left() + (static_cast<double>(i) + 0.5) / ratio_;
            if (x < marked_to + 3) continue;
            marked_to = x;
            painter.setPen(Qt::NoPen);
            painter.setBrush(theme_.water);
            const double y = frame_.top();
            painter.drawPolygon(QPolygonF{{x - 4, y - 1}, {x + 4, y - 1}, {x, y + 6}});
            const QString name = c.has_nan ? QStringLiteral("NaN") : QStringLiteral("∞");
            if (x + 6 < free_from) continue;
            free_from = x + 10 + metrics.horizontalAdvance(name);
            painter.setPen(theme_.water);
            painter.drawText(QPointF(x + 6, y + metrics.ascent() - 1), name);
        }
    }
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void PlotPainter::paintCursor(QPainter& painter, bool detailed) const {
    if (!axis_.cursor() || !has_data_) return;
    const double step = *axis_.cursor();
    if (step < range_.from || step > range_.to) return;
    const double x = std::floor(xOf(step)) + 0.5;
    painter.setFont(font_);
    painter.setPen(QPen(theme_.muted, 1));
    painter.drawLine(QPointF(x, frame_.top()), QPointF(x, frame_.bottom()));

    struct Row {
        QColor colour;
        QString name, value;
    };
    std::vector<Row> rows;
    painter.setRenderHint(QPainter::Antialiasing);
    for (const Drawn& drawn : drawn_) {
        const Pyramid* data = drawn.line->data();
        const auto index = data == nullptr ? std::nullopt : pointAt(*data, step);
        if (!index) continue;
        const double value = data->value(*index);
        const QColor ink = inkOf(*drawn.line);
        if (rows.size() < 12) rows.push_back({ink, drawn.line->name, formatValue(content_.kind, value)});
        const double y = yOf(value);
        if (!std::isfinite(value) || y < frame_.top() - 1 || y > frame_.bottom() + 1) continue;
        painter.setPen(QPen(theme_.surface, 1.5));
        painter.setBrush(ink);
        painter.drawEllipse(QPointF(xOf(step), y), 3.5, 3.5);
    }
    painter.setBrush(Qt::NoBrush);

    const QFontMetricsF metrics(font_);
    const QString head = MarkWords::tr("step %1").arg(formatStep(step));
    double names = 0;
    double widest = 0;
    for (const Row& row : rows) {
        names = std::max(names, detailed ? metrics.horizontalAdvance(row.name) : 0.0);
        widest = std::max(widest, metrics.horizontalAdvance(row.value));
    }
    const double swatch = detailed || rows.size() > 1 ? 12 : 0;
    const double gap = names > 0 ? 10 : 0;
    const double width = std::max(detailed ? metrics.horizontalAdvance(head) : 0.0, swatch + names + gap + widest) + 14;
    const double line = metrics.height();
    const double height = line * static_cast<double>(rows.size() + (detailed ? 1 : 0)) + 8;
    const bool right = x + 8 + width <= frame_.right() + 8;
    const QRectF box(std::round(right ? x + 8 : x - 8 - width), frame_.top() + 7, std::round(width),
                     std::round(height));
    painter.setPen(QPen(theme_.line, 1));
    painter.setBrush(theme_.raised);
    painter.drawRoundedRect(box.adjusted(0.5, 0.5, -0.5, -0.5), 4, 4);
    painter.setBrush(Qt::NoBrush);
    double y = box.top() + 4;
    const QRectF inside = box.adjusted(7, 0, -7, 0);
    if (detailed) {
        painter.setPen(theme_.muted);
        painter.drawText(QRectF(inside.left(), y, inside.width(), line), Qt::AlignLeft | Qt::AlignVCenter, head);
        y += line;
    }
    for (const Row& row : rows) {
        if (swatch > 0) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(row.colour);
            painter.drawRoundedRect(QRectF(inside.left(), y + line / 2 - 3.5, 7, 7), 1.5, 1.5);
            painter.setBrush(Qt::NoBrush);
        }
        const QRectF at(inside.left() + swatch, y, inside.width() - swatch, line);
        painter.setPen(theme_.muted);
        if (detailed) painter.drawText(at, Qt::AlignLeft | Qt::AlignVCenter, row.name);
        painter.setPen(theme_.ink);
        painter.drawText(at, Qt::AlignRight | Qt::AlignVCenter, row.value);
        y += line;
    }
    painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace plimsoll::ui
