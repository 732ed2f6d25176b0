// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot_painter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <QFontMetricsF>
#include <QPolygonF>

#include "ui/plots/polyline.h"
#include "ui/plots/scan_line.h"
#include "ui/widgets/style_sheet.h"

namespace plimsoll::ui {

namespace {

constexpr double lineWidth = 1.5;
// A stroked line costs by its length (0.2 µs a pixel): longer ones are drawn as spans.
constexpr double longestStroke = 2500;

bool finite(const Column& c) { return !c.empty && c.min <= c.max && std::isfinite(c.min) && std::isfinite(c.max); }

}  // namespace

StepRange PlotPainter::shownRange(const PlotContent& content, const StepAxis& axis) {
    return content.whole_range && axis.following() ? axis.whole() : axis.range();
}

QRectF PlotPainter::frameOf(const PlotContent& content, QRectF area, const QFont& font) {
    const QFontMetricsF metrics(font);
    const double legend = content.lines.size() > 1 ? metrics.height() : metrics.height() / 2;
    return area.adjusted(metrics.horizontalAdvance(QStringLiteral("888 MiB")) + 8, legend, -10, -metrics.height() - 5);
}

PlotPainter::PlotPainter(const PlotContent& content, const StepAxis& axis, const Theme& theme, const QFont& font,
                         QRectF area, qreal ratio)
    : content_(content),
      axis_(axis),
      theme_(theme),
      font_(font),
      frame_(frameOf(content, area, font)),
      ratio_(ratio),
      range_(shownRange(content, axis)) {
    const auto count = static_cast<std::size_t>(std::max(1.0, std::round(frame_.width() * ratio_)));
    // One column past the right edge: query() takes a half-open range, and the last step stands on the edge.
    const double per_column = range_.width() / static_cast<double>(count);
    for (const PlotLine& line : content_.lines) {
        const Pyramid* data = line.data ? line.data() : nullptr;
        if (data == nullptr || data->size() == 0) continue;
        has_data_ = true;
        drawn_.push_back({&line, data->query(range_.from, range_.to + per_column, count + 1), {}});
        joinEdges(drawn_.back(), *data);
    }
    fitValues();
    for (Drawn& drawn : drawn_)
        if (const Pyramid* data = drawn.line->data()) addPoints(drawn, *data);
}

void PlotPainter::joinEdges(Drawn& drawn, const Pyramid& data) const {
    // Where the range begins or ends between two points, the line continues to the edge.
    const auto join = [&](Column& column, double step) {
        const std::size_t after = data.lower_bound(step);
        if (!column.empty || after == 0 || after == data.size()) return;
        const double left = data.value(after - 1), right = data.value(after);
        const auto from = static_cast<double>(data.step(after - 1)), to = static_cast<double>(data.step(after));
        const double value = drawn.line->stepped ? left : left + (right - left) * (step - from) / (to - from);
        if (std::isfinite(value)) column = {.empty = false, .first = value, .last = value, .min = value, .max = value};
    };
    join(drawn.columns.front(), range_.from);
    join(drawn.columns.back(), range_.to);
}

void PlotPainter::addPoints(Drawn& drawn, const Pyramid& data) const {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<QPointF> points;
    const auto add = [&](double x, double value) { points.emplace_back(x, std::isfinite(value) ? yOf(value) : nan); };
    std::size_t begin = data.lower_bound(range_.from);
    std::size_t end = data.lower_bound(range_.to);
    if (end - begin < drawn.columns.size() / 2) {
        if (begin > 0) --begin;
        end = std::min(end + 2, data.size());
        for (std::size_t i = begin; i < end; ++i) add(xOf(static_cast<double>(data.step(i))), data.value(i));
    } else {
        // Smooth curves of many points: drawn from the columns' first, lowest, highest and last values.
        for (std::size_t i = 0; i < drawn.columns.size(); ++i) {
            const Column& c = drawn.columns[i];
            const double x = frame_.left() + (static_cast<double>(i) + 0.5) / ratio_;
            if (!c.has_finite()) {
                if (c.has_nan) add(x, nan);
                continue;
            }
            add(x, c.first);
            if (c.min < std::min(c.first, c.last)) add(x, c.min);
            if (c.max > std::max(c.first, c.last)) add(x, c.max);
            if (c.last != c.first) add(x, c.last);
        }
    }
    double length = 0;
    for (std::size_t i = 1; i < points.size(); ++i) {
        const QPointF way = points[i] - points[i - 1];
        if (std::isfinite(way.y())) length += std::abs(way.x()) + std::abs(way.y());
    }
    if (length < longestStroke + 2 * frame_.width())
        drawn.points = drawn.line->stepped ? std::move(points) : simplified(points, 0.1);
}

void PlotPainter::fitValues() {
    const bool log = content_.log_scale || content_.kind == ValueKind::PowerOfTwo;
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    const auto include = [&](double value) {
        if (!std::isfinite(value) || (log && value <= 0)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    };
    for (const Drawn& drawn : drawn_) {
        for (const Column& c : drawn.columns) {
            if (!finite(c)) continue;
            for (const double v : {c.min, c.first, c.last, c.max}) include(v);
        }
    }
    if (content_.planned && !content_.log_scale) {
        for (int i = 0; i <= 32; ++i) include(content_.planned(range_.from + range_.width() * i / 32));
    }
    for (const PlotLevel& level : content_.levels) {
        include(level.low);
        include(level.high);
    }
    if (low > high) {
        low = log ? 1 : 0;
        high = 1;
    }
    const Scale scale = content_.kind == ValueKind::PowerOfTwo ? Scale::Log2
                        : content_.log_scale                   ? Scale::Log10
                                                               : Scale::Linear;
    values_.emplace(content_.kind, scale, low, high);
}

double PlotPainter::xOf(double step) const {
    return frame_.left() + (step - range_.from) / range_.width() * frame_.width();
}

double PlotPainter::stepAt(double x) const {
    return range_.from + (x - frame_.left()) / frame_.width() * range_.width();
}

double PlotPainter::yOf(double value) const { return frame_.bottom() - values_->position(value) * frame_.height(); }

void PlotPainter::paint(QPainter& painter) const {
    if (frame_.width() < 8 || frame_.height() < 8) return;
    painter.setFont(font_);
    if (!has_data_ && !content_.planned) {
        painter.setPen(theme_.muted);
        painter.drawText(frame_, Qt::AlignCenter | Qt::TextWordWrap, content_.empty_text);
        return;
    }
    paintGrid(painter);
    paintSteps(painter);
    paintLegend(painter);
    painter.save();
    painter.setClipRect(frame_.adjusted(0, -1, 1, 1));
    paintLevels(painter);
    paintPlanned(painter);
    paintFlags(painter);
    paintSpans(painter);
    for (const Drawn& drawn : drawn_)
        if (!drawn.points.empty()) paintStroked(painter, drawn);
    paintLivePoint(painter);
    painter.restore();
    paintMarks(painter);
}

QColor PlotPainter::inkOf(const PlotLine& line) const {
    const QColor ink = colour(line.category);
    return line.faint ? mixed(theme_.surface, ink, 0.5) : ink;
}

void PlotPainter::paintSpans(QPainter& painter) const {
    if (std::all_of(drawn_.begin(), drawn_.end(), [](const Drawn& d) { return !d.points.empty(); })) return;
    const auto width = static_cast<int>(drawn_.front().columns.size());
    const auto height = static_cast<int>(std::max(1.0, std::round(frame_.height() * ratio_)));
    QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    for (const Drawn& drawn : drawn_)
        if (drawn.points.empty())
            drawColumns(image, drawn.columns, *values_, inkOf(*drawn.line).rgba(), lineWidth * ratio_,
                        drawn.line->stepped);
    image.setDevicePixelRatio(ratio_);
    painter.drawImage(frame_.topLeft(), image);
}

void PlotPainter::paintStroked(QPainter& painter, const Drawn& drawn) const {
    const QColor ink = inkOf(*drawn.line);
    painter.setRenderHint(QPainter::Antialiasing);
    QPolygonF path;
    const auto draw = [&] {
        painter.setPen(QPen(ink, lineWidth, Qt::SolidLine, Qt::RoundCap, Qt::BevelJoin));
        if (path.size() > 1) painter.drawPolyline(path);
        painter.setPen(Qt::NoPen);
        painter.setBrush(ink);
        if (path.size() == 1) painter.drawEllipse(path.front(), 2, 2);  // a point on its own must be seen
        painter.setBrush(Qt::NoBrush);
        path.clear();
    };
    for (const QPointF& point : drawn.points) {
        if (!std::isfinite(point.y())) {
            draw();
            continue;
        }
        if (drawn.line->stepped && !path.isEmpty()) path << QPointF(point.x(), path.back().y());
        path << point;
    }
    draw();
    painter.setRenderHint(QPainter::Antialiasing, false);
}

}  // namespace plimsoll::ui
