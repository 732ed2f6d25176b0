// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace plimsoll {

namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replace = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replace, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string>& known) {
    name = name.substr(0, 200);
    std::string best;
    // In a short name a second changed letter makes another name.
    std::size_t best_distance = (name.size() <= 3 ? 1 : std::max<std::size_t>(2, name.size() / 3)) + 1;
    for (const std::string& candidate : known) {
        const std::size_t distance = edit_distance(name, candidate);
        if (distance < best_distance) {
            best = candidate;
            best_distance = distance;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
    const std::string near = nearest_name(name, known);
    return near.empty() ? "" : " (did you mean \"" + near + "\"?)";
}

}  // namespace plimsoll
