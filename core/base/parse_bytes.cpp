// SPDX-License-Identifier: Apache-2.0
#include "core/base/parse_bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace plimsoll {

std::optional<Bytes> parse_bytes(std::string_view text) {
    double number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    static constexpr std::array<std::pair<std::string_view, double>, 11> units{{{"", 1},
                                                                                {"B", 1},
                                                                                {"kB", 1e3},
                                                                                {"KB", 1e3},
                                                                                {"MB", 1e6},
                                                                                {"GB", 1e9},
                                                                                {"TB", 1e12},
                                                                                {"KiB", 0x1p10},
                                                                                {"MiB", 0x1p20},
                                                                                {"GiB", 0x1p30},
                                                                                {"TiB", 0x1p40}}};
    for (const auto& [unit, factor] : units) {
        const double bytes = std::floor(number * factor);
        if (text == unit && bytes >= 1 && bytes < 0x1p63) return static_cast<Bytes>(bytes);
    }
    return std::nullopt;
}

}  // namespace plimsoll
