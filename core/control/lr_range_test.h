// SPDX-License-Identifier: Apache-2.0
// What a learning-rate range test says (Smith 2015, 1506.01186): the rate rises update by update while the loss is
// watched.
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
    double suggestion = 0;           ///< a tenth of the lowest's, as fastai's lr_find suggests: a peak that leaves room
    std::vector<double> smoothed;    ///< by update, up to where it diverged
};

/// `rates` rise; `losses` are as many. Smoothed by an exponential average with weight 0.9, its start corrected. Nothing
/// where there are fewer than ten updates before it diverges or the loss never fell by a thousandth.
std::optional<RangeTestResult> judge_range_test(const std::vector<double>& rates, const std::vector<double>& losses);

}  // namespace plimsoll
