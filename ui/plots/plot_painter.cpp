// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/plot_painter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPolygonF>

#include "ui/plots/scan_line.h"

namespace plimsoll::ui {

namespace {

constexpr double line_width = 1.5;
// A stroked line costs by its length (0.2 µs a pixel): longer ones are drawn as spans.
constexpr double longest_stroke = 2500;

QString text(const char* words) { return QCoreApplication::translate("Plot", words); }

// Leaves out points that lie within `tolerance` (vertically) of the line between those kept: a cone from the last kept
// point narrows with each point until one falls out of it. Points at the same x and NaN are all kept.
std::vector<QPointF> simplified(const std::vector<QPointF>& points, double tolerance) {
    std::vector<QPointF> kept;
    double low = 0, high = 0;
    bool open = false;  // is there a cone?
    for (std::size_t i = 0; i < points.size(); ++i) {
        const QPointF& point = points[i];
        if (open) {
            const QPointF way = point - kept.back();
            const double slope = way.y() / way.x();
            if (way.x() > 0 && slope >= low && slope <= high) {
                low = std::max(low, (way.y() - tolerance) / way.x());
                high = std::min(high, (way.y() + tolerance) / way.x());
                continue;
            }
            if (kept.back() != points[i - 1]) kept.push_back(points[i - 1]);
        }
        const QPointF way = kept.empty() ? QPointF() : point - kept.back();
        open = way.x() > 0 && std::isfinite(way.y());
        low = (way.y() - tolerance) / way.x();
        high = (way.y() + tolerance) / way.x();
        if (!open) kept.push_back(point);
    }
    if (open && !points.empty()) kept.push_back(points.back());
    return kept;
}

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
    // Where the range begins or ends between two points the line runs on to its edge.
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
        // Smooth curves of many points: what the columns hold of them.
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
    if (length < longest_stroke + 2 * frame_.width())
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
    painter.restore();
    paintMarks(painter);
}

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
    const QString latest_text = text("step %1").arg(formatStep(axis_.latest()));
    const auto box = [&](double step, const QString& label) {
        const double width = metrics.horizontalAdvance(label);
        const double left = std::clamp(xOf(step) - width / 2, frame_.left() - 8, frame_.right() + 6 - width);
        return QRectF(left, frame_.bottom() + 4, width, metrics.height());
    };
    // The latest step is what people look for: it goes first, ticks that would touch it are left out.
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
    // The end of the range is named; the tick before it only when a whole distance lies between.
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
        painter.fillRect(QRectF(x, top + metrics.height() / 2 - 1, 8, 2), colour(line.category));
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

void PlotPainter::paintSpans(QPainter& painter) const {
    if (std::all_of(drawn_.begin(), drawn_.end(), [](const Drawn& d) { return !d.points.empty(); })) return;
    const auto width = static_cast<int>(drawn_.front().columns.size());
    const auto height = static_cast<int>(std::max(1.0, std::round(frame_.height() * ratio_)));
    QImage image(width, height, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::transparent);
    for (const Drawn& drawn : drawn_)
        if (drawn.points.empty())
            drawColumns(image, drawn.columns, *values_, colour(drawn.line->category).rgba(), line_width * ratio_,
                        drawn.line->stepped);
    image.setDevicePixelRatio(ratio_);
    painter.drawImage(frame_.topLeft(), image);
}

void PlotPainter::paintStroked(QPainter& painter, const Drawn& drawn) const {
    const QColor ink = colour(drawn.line->category);
    painter.setRenderHint(QPainter::Antialiasing);
    QPolygonF path;
    const auto draw = [&] {
        painter.setPen(QPen(ink, line_width, Qt::SolidLine, Qt::RoundCap, Qt::BevelJoin));
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
        const QColor ink = colour(drawn.line->category);
        if (rows.size() < 12) rows.push_back({ink, drawn.line->name, formatValue(content_.kind, value)});
        const double y = yOf(value);
        if (!std::isfinite(value) || y < frame_.top() - 1 || y > frame_.bottom() + 1) continue;
        painter.setPen(QPen(theme_.surface, 1.5));
        painter.setBrush(ink);
        painter.drawEllipse(QPointF(xOf(step), y), 3.5, 3.5);
    }
    painter.setBrush(Qt::NoBrush);

    const QFontMetricsF metrics(font_);
    const QString head = text("step %1").arg(formatStep(step));
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
