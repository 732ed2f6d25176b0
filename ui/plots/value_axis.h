// SPDX-License-Identifier: GPL-3.0-or-later
// The vertical axis of a plot: range, scale and nice ticks.
#pragma once

#include <QString>
#include <vector>

#include "ui/common/value_format.h"

namespace plimsoll::ui {

enum class Scale { Linear, Log10, Log2 };

struct Tick {
    double value = 0;
    QString label;
};

/// Values whose distance is 1, 2, 2.5 or 5 times a power of ten: about `count` of them within [low, high].
std::vector<double> niceValues(double low, double high, int count);

class ValueAxis {
public:
    /// [low, high] is the data's range; the axis adds a margin. On log scales `low` must be over 0.
    ValueAxis(ValueKind kind, Scale scale, double low, double high);

    double low() const { return low_; }
    double high() const { return high_; }
    /// 0 at the bottom, 1 at the top; other numbers for values out of range. Values that a log scale cannot show lie at
    /// the bottom.
    double position(double value) const;
    double valueAt(double position) const;
    std::vector<Tick> ticks(int count) const;

private:
    double scaled(double value) const;
    std::vector<Tick> linearTicks(int count) const;
    std::vector<Tick> decadeTicks(int count) const;
    std::vector<Tick> powerTicks(int count) const;

    ValueKind kind_;
    Scale scale_;
    double low_;
    double high_;
};

}  // namespace plimsoll::ui
