// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/deepspeed_release.h"

#include <array>
#include <optional>

#include "core/base/json.h"

namespace plimsoll {

namespace {

struct Series {
    int minor;
    int first_patch;
    int last_patch;
};

/// All releases on PyPI from 0.9.0 on.
constexpr std::array<Series, 11> known_series{{{9, 0, 5},
                                               {10, 0, 3},
                                               {11, 0, 2},
                                               {12, 0, 6},
                                               {13, 0, 5},
                                               {14, 0, 5},
                                               {15, 0, 4},
                                               {16, 0, 9},
                                               {17, 0, 6},
                                               {18, 0, 9},
                                               {19, 0, 8}}};
/// The oldest that the real parser was tried with on our exports.
constexpr DeepSpeedRelease oldest_exported{14, 4};

std::string releases_from(const DeepSpeedRelease& oldest) {
    std::string text;
    for (const Series& series : known_series) {
        if (series.minor < oldest.minor) continue;
        if (!text.empty()) text += ", ";
        const int first = series.minor == oldest.minor ? oldest.patch : series.first_patch;
        text += fmt::format("0.{0}.{1} to 0.{0}.{2}", series.minor, first, series.last_patch);
    }
    return text;
}

std::optional<DeepSpeedRelease> found(const std::string& text) {
    for (const Series& series : known_series) {
        for (int patch = series.first_patch; patch <= series.last_patch; ++patch) {
            const DeepSpeedRelease release{series.minor, patch};
            if (release.text() == text) return release;
        }
    }
    return std::nullopt;
}

}  // namespace

std::string DeepSpeedRelease::text() const { return fmt::format("0.{}.{}", minor, patch); }

Result<DeepSpeedRelease> deepspeed_release(const std::string& text) {
    if (const auto release = found(text); release && *release >= oldest_exported) return *release;
    return bad_input("export.deepspeed_release {} is not a release that can be exported for; known: {}",
                     shown(Json(text)), releases_from(oldest_exported));
}

Result<DeepSpeedRelease> known_deepspeed_release(const std::string& text) {
    if (const auto release = found(text)) return *release;
    return bad_input("{} is no release of DeepSpeed's that is known; known: {}", shown(Json(text)),
                     releases_from({known_series.front().minor, known_series.front().first_patch}));
}

std::vector<std::string> deepspeed_releases() {
    std::vector<std::string> releases;
    for (auto series = known_series.rbegin(); series != known_series.rend(); ++series) {
        for (int patch = series->last_patch; patch >= series->first_patch; --patch) {
            const DeepSpeedRelease release{series->minor, patch};
            if (release >= oldest_exported) releases.push_back(release.text());
        }
    }
    return releases;
}

}  // namespace plimsoll
