// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/braille_plot.h"

#include <algorithm>
#include <cmath>

#include "app/cli/terminal/terminal.h"
#include "core/base/units.h"

namespace plimsoll::cli {

namespace {

constexpr int axis_width = 10;
constexpr int mark_colour = 196;

/// Bit of the dot at (x, y) in a cell, y downwards (Unicode, Braille Patterns).
constexpr int dot_bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string braille(int bits) {
    const int code = 0x2800 + bits;
    return {static_cast<char>(0xe0 | code >> 12), static_cast<char>(0x80 | (code >> 6 & 0x3f)),
            static_cast<char>(0x80 | (code & 0x3f))};
}

struct Range {
    double min = INFINITY, max = -INFINITY;
};

class Canvas {
public:
    Canvas(int columns, int rows)
        : columns_(columns),
          rows_(rows),
          bits_(static_cast<std::size_t>(columns * rows)),
          colours_(bits_.size()),
          marked_(static_cast<std::size_t>(columns)) {}

    /// Dots of one dot-column between two heights in [0, 1].
    void stroke(int x, double low, double high, int colour) {
        const int bottom = dot_row(low), top = dot_row(high);
        for (int y = top; y <= bottom; ++y) {
            const auto cell = static_cast<std::size_t>(y / 4 * columns_ + x / 2);
            bits_[cell] |= dot_bits[y % 4][x % 2];
            colours_[cell] = colour;
        }
    }

    void mark(int x) { marked_[static_cast<std::size_t>(x / 2)] = true; }

    std::string row(int number) const {
        std::string out, run;  // a run of cells of one colour
        int colour = 0;
        const auto end_run = [&] {
            out += run.empty() ? "" : coloured(run, colour);
            run.clear();
        };
        for (int column = 0; column < columns_; ++column) {
            const auto cell = static_cast<std::size_t>(number * columns_ + column);
            const bool mark = number == 0 && marked_[static_cast<std::size_t>(column)];
            const int wanted = mark ? mark_colour : colours_[cell];
            if (wanted != colour) end_run();
            colour = wanted;
            const std::string text = mark ? "!" : bits_[cell] == 0 ? " " : braille(bits_[cell]);
            if (colour == 0)
                out += text;
            else
                run += text;
        }
        end_run();
        return out;
    }

private:
    int dot_row(double height) const {
        const int last = rows_ * 4 - 1;
        return std::clamp(last - static_cast<int>(std::lround(height * last)), 0, last);
    }

    int columns_, rows_;
    std::vector<int> bits_, colours_;
    std::vector<bool> marked_;
};

void draw_line(Canvas& canvas, const std::vector<Column>& columns, const Range& range, int colour) {
    const auto height = [&](double value) {
        return range.max > range.min ? std::clamp((value - range.min) / (range.max - range.min), 0.0, 1.0) : 0.5;
    };
    double before = NAN;
    for (std::size_t x = 0; x < columns.size(); ++x) {
        const Column& column = columns[x];
        if (column.has_nan || column.has_inf) canvas.mark(static_cast<int>(x));
        if (!column.has_finite()) continue;
        double low = column.min, high = column.max;
        // Drawn to the neighbour's end, so that a steep line has no gaps.
        if (std::isfinite(before)) {
            low = std::min(low, (before + column.first) / 2);
            high = std::max(high, (before + column.first) / 2);
        }
        canvas.stroke(static_cast<int>(x), height(low), height(high), colour);
        before = column.last;
    }
}

}  // namespace

std::string short_value(double value, const std::string& unit) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    if (unit == "B" && std::fabs(value) < 1e18) return format_bytes(static_cast<Bytes>(value));
    if (unit == "s") return format_seconds(value);
    const double size = std::fabs(value);
    if (size != 0 && (size < 1e-3 || size >= 1e15)) return fmt::format("{:.2e}", value);
    if (size < 1) return fmt::format("{:.3g}", value);
    return format_short(value);
}

std::vector<std::string> draw(const Plot& plot) {
    const int width = std::max(plot.columns - axis_width - 1, 10);
    Range range;
    std::vector<std::vector<Column>> columns;
    std::string latest;
    for (const PlotLine& line : plot.lines) {
        columns.push_back(line.points->query(plot.from, plot.to, static_cast<std::size_t>(width) * 2));
        for (const Column& column : columns.back()) {
            range.min = std::min(range.min, column.min);
            range.max = std::max(range.max, column.max);
        }
        if (line.points->size() == 0) continue;
        const double value = line.points->value(line.points->size() - 1);
        latest += (latest.empty() ? "" : "  ") + coloured(short_value(value, plot.unit), line.colour);
    }
    Canvas canvas(width, plot.rows);
    for (std::size_t i = 0; i < columns.size(); ++i) draw_line(canvas, columns[i], range, plot.lines[i].colour);

    std::vector<std::string> out{fitted(bold(plot.title) + "  " + latest, static_cast<std::size_t>(plot.columns))};
    for (int row = 0; row < plot.rows; ++row) {
        std::string label;
        if (range.min <= range.max) {
            if (row == 0) label = short_value(range.max, plot.unit);
            if (row == plot.rows - 1 && range.max > range.min) label = short_value(range.min, plot.unit);
        }
        out.push_back(fitted(label, axis_width, true) + "┤" + canvas.row(row));
    }
    return out;
}

}  // namespace plimsoll::cli
