// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/contract/series.h"

#include <algorithm>

namespace plimsoll {

namespace {

const SeriesFacts* find(std::string_view name) {
    const auto* const found =
        std::find_if(all_series.begin(), all_series.end(), [&](const auto& each) { return each.name == name; });
    return found == all_series.end() ? nullptr : found;
}

}  // namespace

std::string unit_of(std::string_view series_name) {
    const SeriesFacts* facts = find(series_name);
    return facts == nullptr ? "" : std::string(facts->unit);
}

bool is_series(std::string_view name) { return find(name) != nullptr || name.starts_with(series::layer_norm_prefix); }

}  // namespace plimsoll
