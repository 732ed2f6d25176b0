// SPDX-License-Identifier: Apache-2.0
#include "core/control/lr_range_test.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

namespace {

constexpr double weight = 0.9;
constexpr double divergence = 4;
constexpr double least_fall = 1e-3;
constexpr std::size_t fewest = 10;

}  // namespace

std::optional<RangeTestResult> judge_range_test(const std::vector<double>& rates, const std::vector<double>& losses) {
    RangeTestResult result;
    double average = 0, correction = 1, lowest = 0;
    const std::size_t count = std::min(rates.size(), losses.size());
    for (std::size_t i = 0; i < count; ++i) {
        const bool finite = std::isfinite(losses[i]);
        average = weight * average + (1 - weight) * (finite ? losses[i] : 0);
        correction *= weight;
        const double smooth = average / (1 - correction);
        if (!finite || (i > 0 && losses[i] > divergence * lowest && smooth > lowest)) {
            result.diverged = rates[i];
            break;
        }
        result.smoothed.push_back(smooth);
        if (i == 0 || smooth < lowest) {
            lowest = smooth;
            result.lowest = rates[i];
        }
    }
    if (result.smoothed.size() < fewest || !(lowest < result.smoothed.front() * (1 - least_fall))) return std::nullopt;
    double steepest = 0;
    for (std::size_t i = std::max<std::size_t>(1, result.smoothed.size() / 10); i < result.smoothed.size(); ++i) {
        const double width = std::log(rates[i] / rates[i - 1]);
        if (!(width > 0)) continue;
        const double slope = (result.smoothed[i] - result.smoothed[i - 1]) / width;
        if (slope >= steepest) continue;
        steepest = slope;
        result.steepest = rates[i];
    }
    if (steepest == 0) return std::nullopt;
    result.suggestion = result.lowest / 10;
    return result;
}

}  // namespace plimsoll
