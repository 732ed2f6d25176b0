// SPDX-License-Identifier: Apache-2.0
// "did you mean …": the nearest of a list of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

/// The name at the smallest edit distance (case ignored), or "" when none is near enough to be meant.
std::string nearest_name(std::string_view name, const std::vector<std::string>& known);

/// " (did you mean \"layout\"?)" or "".
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace plimsoll
