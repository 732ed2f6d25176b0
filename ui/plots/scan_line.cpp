// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/scan_line.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace plimsoll::ui {

namespace {

struct Span {
    double top = 1e30;
    double bottom = -1e30;
    void include(double y) {
        top = std::min(top, y);
        bottom = std::max(bottom, y);
    }
    bool empty() const { return top > bottom; }
};

void blend(QRgb& pixel, QRgb colour, int coverage) {  // coverage 0…256
    const auto mix = [&](int shift) {
        const int from = static_cast<int>((pixel >> shift) & 0xff);
        const int to = static_cast<int>((colour >> shift) & 0xff);
        return static_cast<QRgb>(from + (to - from) * coverage / 256) << shift;
    };
    pixel = mix(24) | mix(16) | mix(8) | mix(0);
}

// Fills [top, bottom] with partial coverage of the two end pixels.
void fill(QImage& image, uchar* bits, qsizetype stride, int x, double top, double bottom, QRgb colour) {
    top = std::max(top, 0.0);
    bottom = std::min(bottom, static_cast<double>(image.height()));
    if (bottom <= top) return;
    const int first = static_cast<int>(top);
    const int last = std::min(static_cast<int>(std::ceil(bottom)), image.height()) - 1;
    for (int y = first; y <= last; ++y) {
        auto* row = reinterpret_cast<QRgb*>(bits + y * stride);
        const double covered = std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y));
        if (covered >= 0.999)
            row[x] = colour;
        else
            blend(row[x], colour, static_cast<int>(covered * 256));
    }
}

bool hasFinite(const Column& c) { return !c.empty && c.min <= c.max && std::isfinite(c.first); }

// Connects the last point before a gap with the first point after it, over the columns between (each end takes half a
// column, because points lie in the middle of their columns).
void connect(std::vector<Span>& spans, std::size_t from, double y_from, std::size_t to, double y_to, bool stepped) {
    if (stepped) {
        for (std::size_t x = from; x <= to; ++x) spans[x].include(y_from);
        spans[to].include(y_to);
        return;
    }
    const double slope = (y_to - y_from) / static_cast<double>(to - from);
    const auto at = [&](double x) { return y_from + slope * (x - static_cast<double>(from)); };
    spans[from].include(at(static_cast<double>(from) + 0.5));
    for (std::size_t x = from + 1; x < to; ++x) {
        spans[x].include(at(static_cast<double>(x) - 0.5));
        spans[x].include(at(static_cast<double>(x) + 0.5));
    }
    spans[to].include(at(static_cast<double>(to) - 0.5));
}

}  // namespace

void drawColumns(QImage& image, const std::vector<Column>& columns, const ValueAxis& axis, QRgb colour, double width,
                 bool stepped) {
    const std::size_t count = std::min(columns.size(), static_cast<std::size_t>(image.width()));
    const double height = image.height();
    const auto y_of = [&](double value) { return (1 - axis.position(value)) * height; };

    std::vector<Span> spans(count);
    bool open = false;  // is there a point to go on from?
    std::size_t previous = 0;
    double y_previous = 0;
    for (std::size_t x = 0; x < count; ++x) {
        const Column& c = columns[x];
        if (!hasFinite(c)) {
            if (c.has_nan) open = false;
            continue;
        }
        if (open) connect(spans, previous, y_previous, x, y_of(c.first), stepped);
        spans[x].include(y_of(c.min));
        spans[x].include(y_of(c.max));
        previous = x;
        y_previous = y_of(c.last);
        open = true;
    }

    const QRgb premultiplied = qPremultiply(colour);
    uchar* bits = image.bits();
    const qsizetype stride = image.bytesPerLine();
    for (std::size_t x = 0; x < count; ++x)
        if (!spans[x].empty())
            fill(image, bits, stride, static_cast<int>(x), spans[x].top - width / 2, spans[x].bottom + width / 2,
                 premultiplied);
}

}  // namespace plimsoll::ui
