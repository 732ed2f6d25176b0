// SPDX-License-Identifier: GPL-3.0-or-later
// Values as text for a person, in the application's locale.
#pragma once

#include <cstdint>
#include <QString>

#include "core/base/units.h"

namespace plimsoll::ui {

/// The kind of values, which decides units, digits and the usual scale.
enum class ValueKind {
    Plain,       ///< 2.614
    Scientific,  ///< 2.47e−4
    Short,       ///< 163 k
    Bytes,       ///< 61.9 GiB
    Seconds,     ///< 214 ms
    PowerOfTwo,  ///< 65,536; always on a log2 scale, ticks 2¹⁶
};

/// The value for a person, with its unit, in the application's locale. NaN and infinities are named.
QString formatValue(ValueKind kind, double value);
/// "3,104" in the application's locale.
QString formatStep(double step);

/// A unit of a kind: its size, and its name ("GiB").
struct Unit {
    double size = 1;
    const char* name = "";
};
/// The largest unit that `value` fills.
Unit unitFor(ValueKind kind, double value);
/// The number and its unit, with a space that does not break.
QString withUnit(const QString& number, const Unit& unit);
/// "2.47e−4": up to `decimals` decimals, no trailing zeros.
QString scientific(double value, int decimals);

/// "61.9 GiB".
QString bytesText(Bytes bytes);
/// "62.8 of 79.2 GiB"; one unit where both numbers fill it.
QString partOf(Bytes part, Bytes whole);
/// The number alone where `whole` shares its unit: "62.8".
QString inUnitOf(Bytes part, Bytes whole);
/// "6,738,415,616" in the application's locale.
QString countText(std::int64_t count);
/// "8.6 %".
QString percentText(double share);

}  // namespace plimsoll::ui
