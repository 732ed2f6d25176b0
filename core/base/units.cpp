// SPDX-License-Identifier: Apache-2.0
#include "core/base/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace plimsoll {

namespace {

std::string three_digits(double value) {
    const double magnitude = std::fabs(value);
    // The limits are where rounding to the next precision would show a fourth digit (9.995 -> "10.0").
    if (magnitude < 9.995) return fmt::format("{:.2f}", value);
    if (magnitude < 99.95) return fmt::format("{:.1f}", value);
    return fmt::format("{:.0f}", value);
}

template <std::size_t N>
std::string scaled(double value, double base, const std::array<const char*, N>& units) {
    std::size_t unit = 0;
    while (std::fabs(value) >= base * 0.9995 && unit + 1 < N) {
        value /= base;
        ++unit;
    }
    return unit == 0 ? fmt::format("{:.0f} {}", value, units[0]) : three_digits(value) + " " + units[unit];
}

}  // namespace

std::string format_bytes(Bytes bytes) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    return scaled(static_cast<double>(bytes), 1024.0, units);
}

std::string format_bytes_decimal(Bytes bytes) {
    static constexpr std::array units{"B", "kB", "MB", "GB", "TB", "PB"};
    return scaled(static_cast<double>(bytes), 1000.0, units);
}

std::string format_count(std::int64_t count, const std::string& separator) {
    const std::string digits = std::to_string(count);
    const std::size_t first = count < 0 ? 1 : 0;
    std::string out;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i > first && (digits.size() - i) % 3 == 0) out += separator;
        out += digits[i];
    }
    return out;
}

std::string format_short(double value) {
    if (std::fabs(value) < 999.5) {
        return value == std::floor(value) ? fmt::format("{:.0f}", value) : three_digits(value);
    }
    static constexpr std::array units{"", "k", "M", "B", "T"};
    return scaled(value, 1000.0, units);
}

std::string format_seconds(Seconds seconds) {
    if (!std::isfinite(seconds)) return "–";
    if (seconds < 0) return fmt::format("-{}", format_seconds(-seconds));
    if (seconds < 1e-3) return three_digits(seconds * 1e6) + " µs";
    if (seconds < 1) return three_digits(seconds * 1e3) + " ms";
    if (seconds < 60) return three_digits(seconds) + " s";
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    if (whole < 86400) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
    return fmt::format("{} d {} h", whole / 86400, whole % 86400 / 3600);
}

}  // namespace plimsoll
