// SPDX-License-Identifier: Apache-2.0
// Units that every part shares, and how they are written for a person.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

using Bytes = std::int64_t;
using Seconds = double;

inline constexpr Bytes KiB = 1024;
inline constexpr Bytes MiB = 1024 * KiB;
inline constexpr Bytes GiB = 1024 * MiB;
inline constexpr Bytes GB = 1'000'000'000;

/// 67'431'000'000 -> "62.8 GiB"; three significant digits, binary units; below 1 KiB "512 B".
std::string format_bytes(Bytes bytes);
/// The same number in decimal units: "67.4 GB".
std::string format_bytes_decimal(Bytes bytes);
/// 6738415616 -> "6,738,415,616" (separator as given).
std::string format_count(std::int64_t count, const std::string& separator = ",");
/// 6738415616 -> "6.74 B", 163100 -> "163 k".
std::string format_short(double value);
/// 0.0214 -> "21.4 ms", 12345 -> "3 h 26 min".
std::string format_seconds(Seconds seconds);

/// A whole number as a factor of fractions.
constexpr double as_double(std::int64_t value) { return static_cast<double>(value); }

}  // namespace plimsoll
