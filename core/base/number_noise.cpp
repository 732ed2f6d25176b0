// SPDX-License-Identifier: Apache-2.0
#include "core/base/number_noise.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace plimsoll {

namespace {

/// Of the shortest decimal text that reads back as the number.
std::size_t significant_digits(double value) {
    std::string digits;
    for (const char c : fmt::format("{}", value)) {
        if (c == 'e') break;
        if (c >= '0' && c <= '9' && (c != '0' || !digits.empty())) digits += c;
    }
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    return digits.size();
}

}  // namespace

double without_noise(double value) {
    constexpr std::size_t noisy = 16, plain = 12;
    if (!std::isfinite(value) || significant_digits(value) < noisy) return value;
    const double rounded = std::strtod(fmt::format("{:.14e}", value).c_str(), nullptr);
    return significant_digits(rounded) <= plain ? rounded : value;
}

Json without_noise(Json document) {
    if (document.is_number_float()) return without_noise(document.get<double>());
    if (document.is_structured())
        for (Json& each : document) each = without_noise(std::move(each));
    return document;
}

}  // namespace plimsoll
