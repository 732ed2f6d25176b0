// SPDX-License-Identifier: Apache-2.0
// AdaGC (2502.11034): each tensor's gradient is clipped against an average of its own clipped norms.
#pragma once

#include <cstdint>
#include <vector>

namespace plimsoll {

class AdaGc {
public:
    struct Settings {
        double relative = 1.05;     ///< norm allowed, as a multiple of the average
        double weight = 0.98;       ///< of the past in the average
        std::int64_t warmup = 100;  ///< updates that are clipped together to `absolute`
        double absolute = 1;        ///< 0: not clipped in the warmup
    };
    AdaGc(const Settings& settings, std::size_t tensors)
        : settings_(settings), average_(tensors, 0.0), begun_(tensors, false) {}

    /// Norms by tensor, finite, and that of all gradients together, of which these tensors may be a part -> what each
    /// gradient is multiplied by. During the warmup one factor for all, and the average is the least clipped norm so
    /// far; afterwards each tensor's own.
    std::vector<double> factors(const std::vector<double>& norms, double global);
    const std::vector<double>& averages() const { return average_; }
    std::int64_t updates() const { return updates_; }
    /// Goes on from `averages` after so many updates.
    void restore(std::int64_t updates, std::vector<double> averages);

private:
    Settings settings_;
    std::int64_t updates_ = 0;
    std::vector<double> average_;
    std::vector<bool> begun_;
};

}  // namespace plimsoll
