// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/value_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <QCoreApplication>
#include <QLocale>

namespace plimsoll::ui {

namespace {

struct Formats {
    Q_DECLARE_TR_FUNCTIONS(Formats)
};

constexpr std::array byteUnits{Unit{1, "B"}, Unit{0x1p10, "KiB"}, Unit{0x1p20, "MiB"}, Unit{0x1p30, "GiB"},
                               Unit{0x1p40, "TiB"}};
constexpr std::array timeUnits{Unit{1e-6, "µs"}, Unit{1e-3, "ms"}, Unit{1, "s"}, Unit{60, "min"}, Unit{3600, "h"}};
constexpr std::array shortUnits{Unit{1, ""}, Unit{1e3, "k"}, Unit{1e6, "M"}, Unit{1e9, "B"}, Unit{1e12, "T"}};

template <std::size_t n>
Unit largest(const std::array<Unit, n>& units, double value) {
    Unit unit = units.front();
    for (const Unit& u : units)
        if (std::abs(value) >= u.size) unit = u;
    return unit;
}

// 4 significant digits, as decimals.
QString digits(double value, int significant) {
    const double size = std::abs(value);
    const int whole = size >= 1 ? static_cast<int>(std::floor(std::log10(size))) + 1 : 1;
    return QLocale().toString(value, 'f', std::clamp(significant - whole, 0, 9));
}

QString plain(double value) {
    const double size = std::abs(value);
    if (size != 0 && (size < 1e-3 || size >= 1e7)) return scientific(value, 3);
    return digits(value, 4);
}

}  // namespace

Unit unitFor(ValueKind kind, double value) {
    switch (kind) {
        case ValueKind::Bytes:
            return largest(byteUnits, value);
        case ValueKind::Seconds:
            return largest(timeUnits, value);
        case ValueKind::Short:
            return largest(shortUnits, value);
        default:
            return {1, ""};
    }
}

QString withUnit(const QString& number, const Unit& unit) {
    return *unit.name == 0 ? number : number + QChar(0x00A0) + QString::fromUtf8(unit.name);
}

QString scientific(double value, int decimals) {
    if (value == 0) return QStringLiteral("0");
    int exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
    double mantissa = value / std::pow(10.0, exponent);
    const double unit = std::pow(10.0, decimals);
    if (std::round(std::abs(mantissa) * unit) >= 10 * unit) {
        mantissa /= 10;
        ++exponent;
    }
    QString text = QLocale().toString(mantissa, 'f', decimals);
    const QString point = QLocale().decimalPoint();
    if (text.contains(point)) {
        while (text.endsWith(QLatin1Char('0'))) text.chop(1);
        if (text.endsWith(point)) text.chop(point.size());
    }
    const QString sign = exponent < 0 ? QStringLiteral("−") : QString();
    return QStringLiteral("%1e%2%3").arg(text, sign).arg(std::abs(exponent));
}

QString formatValue(ValueKind kind, double value) {
    if (std::isnan(value)) return QStringLiteral("NaN");
    if (std::isinf(value)) return value > 0 ? QStringLiteral("∞") : QStringLiteral("−∞");
    const Unit unit = unitFor(kind, value);
    switch (kind) {
        case ValueKind::Scientific:
            return scientific(value, 2);
        case ValueKind::PowerOfTwo:
            return value == std::floor(value) && std::abs(value) < 1e15
                       ? QLocale().toString(static_cast<qlonglong>(value))
                       : plain(value);
        case ValueKind::Bytes:
        case ValueKind::Seconds:
        case ValueKind::Short:
            if (std::abs(value) >= 1e5 * unit.size) return withUnit(scientific(value / unit.size, 2), unit);
            if (unit.size == 1 && value == std::floor(value))
                return withUnit(QLocale().toString(static_cast<qlonglong>(value)), unit);
            return withUnit(digits(value / unit.size, kind == ValueKind::Short ? 4 : 3), unit);
        case ValueKind::Plain:
            break;
    }
    return plain(value);
}

QString formatStep(double step) {
    return QLocale().toString(static_cast<qlonglong>(std::llround(std::clamp(step, -9e18, 9e18))));
}

QString bytesText(Bytes bytes) { return formatValue(ValueKind::Bytes, static_cast<double>(bytes)); }

QString countText(std::int64_t count) { return QLocale().toString(static_cast<qlonglong>(count)); }

QString percentText(double share) {
    const double percent = share * 100;
    if (percent > 0 && percent < 0.005) return Formats::tr("< 0.01 %");
    const int digits = percent == 0 || percent >= 99.95 ? 0 : (percent < 9.95 ? 2 : 1);
    return Formats::tr("%1 %").arg(QLocale().toString(percent, 'f', digits));
}

QString inUnitOf(Bytes part, Bytes whole) {
    const Unit unit = unitFor(ValueKind::Bytes, static_cast<double>(whole));
    if (static_cast<double>(part) < unit.size) return bytesText(part);
    const double value = static_cast<double>(part) / unit.size;
    const int digits = value < 9.995 ? 2 : (value < 99.95 ? 1 : 0);
    return QLocale().toString(value, 'f', digits);
}

QString partOf(Bytes part, Bytes whole) { return Formats::tr("%1 of %2").arg(inUnitOf(part, whole), bytesText(whole)); }

}  // namespace plimsoll::ui
