// SPDX-License-Identifier: Apache-2.0
// The result of a learning-rate range test (Smith 2015, 1506.01186): the rate rises update by update while the loss is
// recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace plimsoll {

struct RangeTestResult {
    /// The rate at which the smoothed loss fell fastest per factor of the rate, past the first tenth of the updates: a
    /// fresh model's loss falls at any rate.
    double steepest = 0;
    double lowest = 0;               ///< the rate of the lowest smoothed loss
    std::optional<double> diverged;  ///< the first rate at which the loss was 4 times its lowest, or not finite
    double suggestion = 0;  ///< a tenth of the lowest's rate, as fastai's lr_find suggests: a peak that leaves room
    std::vector<double> smoothed;  ///< by update, up to where it diverged
};

/// `rates` rise; `losses` are as many. The losses are smoothed by an exponential average with weight 0.9 and a
/// corrected start. Nothing with fewer than ten updates before the loss diverges, or where the loss never falls by a
/// thousandth.
std::optional<RangeTestResult> judge_range_test(const std::vector<double>& rates, const std::vector<double>& losses);

}  // namespace plimsoll
