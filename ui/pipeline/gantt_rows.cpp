// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pipeline/gantt_rows.h"

#include <algorithm>
#include <cmath>
#include <QPainter>
#include <span>

#include "ui/widgets/style_sheet.h"

namespace plimsoll::ui {

namespace {

using Ops = std::span<const TimedOp>;
constexpr double stripe = 3;       // height of a chunk's mark
constexpr double hatchFrom = 8;    // rows lower than this are plain
constexpr double mergeFrom = 0.4;  // operations a pixel

Ops visibleOps(const std::vector<TimedOp>& ops, double from, double to) {
    const auto first =
        std::partition_point(ops.begin(), ops.end(), [from](const TimedOp& op) { return op.end <= from; });
    const auto last = std::partition_point(first, ops.end(), [to](const TimedOp& op) { return op.start < to; });
    return {first, last};
}

class Drawing {
public:
    Drawing(const GanttFrame& frame, const Theme& theme, std::size_t rows)
        : frame_(frame),
          idle_(idleColour(theme)),
          hatch_(hatchColour(theme)),
          chunk_(chunkColour(theme)),
          colours_(ganttColours(theme)),
          image_(std::max(1, static_cast<int>(std::ceil(frame.width * frame.ratio))),
                 std::max(1, static_cast<int>(std::ceil(frame.pitch * static_cast<double>(rows) * frame.ratio))),
                 QImage::Format_ARGB32_Premultiplied) {
        image_.fill(Qt::transparent);
    }

    QImage draw(const Timeline& timeline) {
        std::vector<std::pair<double, Ops>> apart;
        for (std::size_t row = 0; row < timeline.ranks.size(); ++row) {
            const double top = frame_.pitch * static_cast<double>(row);
            const Ops ops = visibleOps(timeline.ranks[row], frame_.from, frame_.to);
            if (static_cast<double>(ops.size()) > mergeFrom * image_.width())
                drawMerged(top, ops);
            else
                apart.emplace_back(top, ops);
        }
        image_.setDevicePixelRatio(frame_.ratio);
        QPainter painter(&image_);
        painter.setFont(uiFont(-1.5));
        for (const auto& [top, ops] : apart) drawApart(painter, top, ops);
        return std::move(image_);
    }

private:
    double height() const { return frame_.pitch - frame_.gap; }
    QColor colourOf(const TimedOp& timed) const {
        return colours_[ganttColourOf(timed.op.kind)][static_cast<std::size_t>(timed.op.micro_batch % ganttShades)];
    }

    /// Each column gets the mean colour of its operations.
    void drawMerged(double top, Ops ops) {
        const auto columns = static_cast<std::size_t>(image_.width());
        struct Mix {
            float red = 0, green = 0, blue = 0, busy = 0, marked = 0;
        };
        std::vector<Mix> mixes(columns);
        std::array<std::array<std::array<float, 3>, ganttShades>, 3> parts{};
        for (std::size_t kind = 0; kind < parts.size(); ++kind)
            for (std::size_t shade = 0; shade < ganttShades; ++shade) {
                const QColor& colour = colours_[kind][shade];
                parts[kind][shade] = {static_cast<float>(colour.red()), static_cast<float>(colour.green()),
                                      static_cast<float>(colour.blue())};
            }
        for (const TimedOp& timed : ops) {
            const auto& [red, green, blue] =
                parts[ganttColourOf(timed.op.kind)][static_cast<std::size_t>(timed.op.micro_batch % ganttShades)];
            const double from = std::max(0.0, frame_.xOf(timed.start) * frame_.ratio);
            const double to = std::min(static_cast<double>(columns), frame_.xOf(timed.end) * frame_.ratio);
            for (auto x = static_cast<std::size_t>(from); x < columns && static_cast<double>(x) < to; ++x) {
                const auto left = static_cast<double>(x);
                const auto share = static_cast<float>(std::min(to, left + 1) - std::max(from, left));
                Mix& mix = mixes[x];
                mix.red += share * red;
                mix.green += share * green;
                mix.blue += share * blue;
                mix.busy += share;
                if (timed.op.chunk > 0) mix.marked += share;
            }
        }
        std::vector<QRgb> line(columns), marks(columns);
        std::vector<bool> empty(columns);
        for (std::size_t x = 0; x < columns; ++x) {
            const Mix& mix = mixes[x];
            const float rest = std::max(0.0F, 1 - mix.busy);
            const auto part = [rest](float sum, int idle) {
                return std::min(255, static_cast<int>(std::lround(sum + rest * static_cast<float>(idle))));
            };
            const QColor colour(part(mix.red, idle_.red()), part(mix.green, idle_.green()),
                                part(mix.blue, idle_.blue()));
            line[x] = colour.rgb();
            marks[x] = mixed(colour, chunk_, std::min(1.0, static_cast<double>(mix.marked)) * chunk_.alphaF()).rgb();
            empty[x] = rest > 0.95F;
        }
        const int first = static_cast<int>(std::lround(top * frame_.ratio));
        const int last = std::min(image_.height(), static_cast<int>(std::lround((top + height()) * frame_.ratio)));
        const int marked = first + (height() >= hatchFrom ? static_cast<int>(std::lround(stripe * frame_.ratio)) : 0);
        const int period = static_cast<int>(std::lround(6 * frame_.ratio));
        const QRgb hatch = mixed(idle_, QColor(hatch_.rgb()), hatch_.alphaF()).rgb();
        for (int y = first; y < last; ++y) {
            auto* pixels = reinterpret_cast<QRgb*>(image_.scanLine(y));
            std::copy(y < marked ? marks.begin() : line.begin(), y < marked ? marks.end() : line.end(), pixels);
            if (height() < hatchFrom) continue;
            for (int x = (period - y % period) % period; x < image_.width(); x += period)
                if (empty[static_cast<std::size_t>(x)]) pixels[x] = hatch;
        }
    }

    void drawApart(QPainter& painter, double top, Ops ops) const {
        const QRectF row(0, top, frame_.width, height());
        painter.fillRect(row, idle_);
        if (height() >= hatchFrom) painter.fillRect(row, QBrush(hatch_, Qt::BDiagPattern));
        const QFontMetricsF metrics(painter.font());
        for (const TimedOp& timed : ops) {
            const double from = std::max(-4.0, frame_.xOf(timed.start));
            const QRectF area(from, top, std::min(frame_.width + 4, frame_.xOf(timed.end)) - from, height());
            // A hairline between cells while there is room for one.
            const double inset = area.width() >= 5 ? 0.5 : 0;
            const QColor colour = colourOf(timed);
            painter.fillRect(area.adjusted(inset, 0, -inset, 0), colour);
            if (timed.op.chunk > 0 && height() >= hatchFrom)
                painter.fillRect(QRectF(from + inset, top, area.width() - 2 * inset, std::min(stripe, height() / 2)),
                                 chunk_);
            if (height() < 11 || area.width() < 12) continue;
            const QString number = QString::number(timed.op.micro_batch);
            if (metrics.horizontalAdvance(number) + 1 > area.width()) continue;
            painter.setPen(colour.lightnessF() > 0.52 ? QColor(0x0c1419) : QColor(Qt::white));
            painter.drawText(area, Qt::AlignCenter, number);
        }
    }

    const GanttFrame& frame_;
    QColor idle_, hatch_, chunk_;
    GanttColours colours_;
    QImage image_;
};

}  // namespace

GanttColours ganttColours(const Theme& theme) {
    GanttColours colours;
    constexpr std::array<std::size_t, 3> category{0, 2, 1};
    for (std::size_t kind = 0; kind < colours.size(); ++kind)
        for (std::size_t i = 0; i < ganttShades; ++i)
            colours[kind][i] = mixed(theme.surface, theme.category[category[kind]],
                                     0.58 + 0.42 * static_cast<double>(i) / (ganttShades - 1));
    return colours;
}

std::size_t ganttColourOf(OpKind kind) { return kind == OpKind::Forward ? 0 : kind == OpKind::BackwardWeight ? 2 : 1; }

QColor chunkColour(const Theme& theme) {
    QColor colour = theme.ink;
    colour.setAlphaF(0.7F);
    return colour;
}

QImage drawGanttRows(const Timeline& timeline, const GanttFrame& frame, const Theme& theme) {
    return Drawing(frame, theme, timeline.ranks.size()).draw(timeline);
}

}  // namespace plimsoll::ui
