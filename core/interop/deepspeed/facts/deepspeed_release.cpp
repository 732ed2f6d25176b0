// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/deepspeed_release.h"

#include <array>

#include "core/base/json.h"

namespace plimsoll {

namespace {

struct Series {
    int minor;
    int first_patch;
    int last_patch;
};

/// All releases on PyPI from 0.14.4 on: the oldest whose keys were compared.
constexpr std::array<Series, 6> known_series{{{14, 4, 5}, {15, 0, 4}, {16, 0, 9}, {17, 0, 6}, {18, 0, 9}, {19, 0, 8}}};

std::string known_releases() {
    std::string text;
    for (const Series& series : known_series) {
        if (!text.empty()) text += ", ";
        text += fmt::format("0.{0}.{1} to 0.{0}.{2}", series.minor, series.first_patch, series.last_patch);
    }
    return text;
}

}  // namespace

std::string DeepSpeedRelease::text() const { return fmt::format("0.{}.{}", minor, patch); }

Result<DeepSpeedRelease> deepspeed_release(const std::string& text) {
    for (const Series& series : known_series) {
        for (int patch = series.first_patch; patch <= series.last_patch; ++patch) {
            const DeepSpeedRelease release{series.minor, patch};
            if (release.text() == text) return release;
        }
    }
    return bad_input("export.deepspeed_release {} is not a release that can be exported for; known: {}",
                     shown(Json(text)), known_releases());
}

std::vector<std::string> deepspeed_releases() {
    std::vector<std::string> releases;
    for (auto series = known_series.rbegin(); series != known_series.rend(); ++series) {
        for (int patch = series->last_patch; patch >= series->first_patch; --patch) {
            releases.push_back(DeepSpeedRelease{series->minor, patch}.text());
        }
    }
    return releases;
}

}  // namespace plimsoll
