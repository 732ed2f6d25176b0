// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/value_axis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <QLocale>

namespace plimsoll::ui {

namespace {

QString superscript(int number) {
    static const QString small = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString text = number < 0 ? QStringLiteral("⁻") : QString();
    for (const QChar c : QString::number(std::abs(number))) text += small[c.digitValue()];
    return text;
}

double niceStep(double range, int count) {
    const double raw = range / std::max(1, count);
    const double decade = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double m : {1.0, 2.0, 2.5, 5.0})
        if (raw <= m * decade * 1.0001) return m * decade;
    return 10 * decade;
}

}  // namespace

std::vector<double> niceValues(double low, double high, int count) {
    std::vector<double> values;
    if (!(high > low) || !std::isfinite(high - low)) return values;
    const double step = niceStep(high - low, count);
    const double first = std::ceil(low / step - 1e-9);
    for (double k = first; k * step <= high + step * 1e-9 && values.size() < 100; ++k)
        values.push_back(k == 0 ? 0.0 : k * step);
    return values;
}

ValueAxis::ValueAxis(ValueKind kind, Scale scale, double low, double high)
    : kind_(kind), scale_(scale), low_(low), high_(high) {
    if (scale_ == Scale::Linear) {
        // A constant line lies in the middle of a range as large as a tenth of its value.
        const double flat = low == 0 ? 1.0 : std::abs(low) * 0.05;
        const double pad = high > low ? (high - low) * 0.06 : flat;
        low_ = low >= 0 ? std::max(0.0, low - pad) : low - pad;
        high_ = high + pad;
        if (!std::isfinite(low_) || !std::isfinite(high_) || !(high_ > low_)) {
            low_ = std::max(low, -std::numeric_limits<double>::max() / 4);
            high_ = std::min(high, std::numeric_limits<double>::max() / 4);
            if (!(high_ > low_)) high_ = low_ + std::max(1.0, std::abs(low_));
        }
        return;
    }
    low = std::max(low, std::numeric_limits<double>::min());
    high = std::max(high, low);
    const double least = scale_ == Scale::Log2 ? 2.0 : 1.1;  // a constant line gets one power of two on either side
    const double pad = high > low * 1.0001 ? std::pow(high / low, 0.06) : least;
    low_ = std::max(low / pad, std::numeric_limits<double>::min());
    high_ = std::min(high * pad, std::numeric_limits<double>::max());
}

double ValueAxis::scaled(double value) const {
    if (scale_ == Scale::Linear) return value;
    return value > 0 ? std::log2(value) : -std::numeric_limits<double>::infinity();
}

double ValueAxis::position(double value) const {
    const double bottom = scaled(low_);
    const double range = scaled(high_) - bottom;
    // Clamped: a position far outside the range looks like outside, and pixel arithmetic stays in bounds.
    return std::clamp((scaled(value) - bottom) / range, -1.0, 2.0);
}

double ValueAxis::valueAt(double position) const {
    const double s = scaled(low_) + position * (scaled(high_) - scaled(low_));
    return scale_ == Scale::Linear ? s : std::exp2(s);
}

std::vector<Tick> ValueAxis::ticks(int count) const {
    switch (scale_) {
        case Scale::Linear:
            return linearTicks(count);
        case Scale::Log10:
            return decadeTicks(count);
        case Scale::Log2:
            return powerTicks(count);
    }
    return {};
}

std::vector<Tick> ValueAxis::linearTicks(int count) const {
    const Unit unit = unitFor(kind_, std::max(std::abs(low_), std::abs(high_)));
    const std::vector<double> values = niceValues(low_ / unit.size, high_ / unit.size, count);
    std::vector<Tick> ticks;
    if (values.empty()) return ticks;
    const double step = values.size() > 1 ? values[1] - values[0] : std::max(std::abs(values[0]), 1e-300);
    const double largest_value = std::max(std::abs(values.front()), std::abs(values.back()));
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-6)), 0, 15);
    const bool quarter = std::abs(step * std::pow(10.0, decimals) - std::round(step * std::pow(10.0, decimals))) > 1e-3;
    const bool use_scientific =
        kind_ == ValueKind::Scientific || (largest_value > 0 && (largest_value < 1e-2 || largest_value >= 1e6));
    const int places = static_cast<int>(std::clamp(std::ceil(std::log10(largest_value / step) - 1e-6), 1.0, 6.0));
    for (const double v : values) {
        QString label =
            use_scientific ? scientific(v, places) : QLocale().toString(v, 'f', decimals + (quarter ? 1 : 0));
        if (v == values.back()) label = withUnit(label, unit);
        ticks.push_back({v * unit.size, label});
    }
    return ticks;
}

std::vector<Tick> ValueAxis::decadeTicks(int count) const {
    const double decades = std::log10(high_) - std::log10(low_);
    if (decades < 0.7) return linearTicks(count);
    const std::vector<double> steps = decades < count * 0.6 ? std::vector<double>{1, 2, 5} : std::vector<double>{1};
    const int stride = std::max(1, static_cast<int>(std::ceil(decades / (count + 1))));
    std::vector<Tick> ticks;
    for (int e = static_cast<int>(std::floor(std::log10(low_))); e <= std::log10(high_) + 1e-9; ++e) {
        if (((e % stride) + stride) % stride != 0) continue;
        for (const double m : steps) {
            const double value = m * std::pow(10.0, e);
            if (value < low_ || value > high_) continue;
            // Minutes and hours are no powers of ten: 10 s, 20 s, 50 s, 100 s.
            const Unit unit = unitFor(kind_, kind_ == ValueKind::Seconds ? std::min(value, 1.0) : value);
            const double shown = value / unit.size;
            const bool plain_number = kind_ != ValueKind::Scientific && shown >= 1e-3 && shown < 1e5;
            ticks.push_back({value, withUnit(plain_number ? QLocale().toString(shown, 'g', shown < 1000 ? 3 : 5)
                                                          : scientific(shown, 1),
                                             unit)});
        }
    }
    return ticks;
}

std::vector<Tick> ValueAxis::powerTicks(int count) const {
    const int first = static_cast<int>(std::ceil(std::log2(low_) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log2(high_) + 1e-9));
    const int stride = std::max(1, (last - first + count) / std::max(1, count));
    std::vector<Tick> ticks;
    const auto aligned = static_cast<int>(std::ceil(static_cast<double>(first) / stride)) * stride;
    for (int e = aligned; e <= last; e += stride) ticks.push_back({std::exp2(e), QStringLiteral("2") + superscript(e)});
    return ticks;
}

}  // namespace plimsoll::ui
