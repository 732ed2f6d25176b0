// SPDX-License-Identifier: Apache-2.0
// Numbers as options: what is allowed is said without the limits of the type.
#pragma once

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "core/base/result.h"

namespace plimsoll::cli {

/// More than 0; CLI11's own check names the largest double with all of its digits.
inline CLI::Validator above_zero() {
    return {[](std::string& text) {
                double value = 0;
                if (!CLI::detail::lexical_cast(text, value) || std::isnan(value)) return text + " is not a number";
                return value > 0 ? std::string() : text + " is too low: a number above 0 is needed";
            },
            "POSITIVE"};
}

/// A whole number from 1, also as people write large ones: 7e9.
inline CLI::Validator count() {
    return {[](std::string& text) {
                double value = 0;
                const bool number = CLI::detail::lexical_cast(text, value);
                if (!number || !(value >= 1) || value > 9e18 || value != std::floor(value))
                    return text + " is not a whole number from 1";
                // Without a fraction or an exponent the text is exact as it stands.
                if (text.find_first_of(".eE") != std::string::npos)
                    text = fmt::format("{}", static_cast<std::int64_t>(value));
                return std::string();
            },
            ""};
}

}  // namespace plimsoll::cli
