// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>

namespace plimsoll::cli {

/// "3.1 %" of 0.031.
inline std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

}  // namespace plimsoll::cli
