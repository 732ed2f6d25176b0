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
        double weight = 0.98;       ///< weight of the past in the average
        std::int64_t warmup = 100;  ///< updates that are clipped together to `absolute`
        double absolute = 1;        ///< 0: not clipped in the warmup
    };
    AdaGc(const Settings& settings, std::size_t tensors)
        : settings_(settings), average_(tensors, 0.0), begun_(tensors, false) {}

    /// The factor for each gradient, from the finite norms by tensor and the norm of all gradients together, of which
    /// these tensors may be a part. During the warmup all gradients get one factor, and a tensor's average is its least
    /// clipped norm so far; afterwards each tensor gets a factor of its own.
    std::vector<double> factors(const std::vector<double>& norms, double global);
    const std::vector<double>& averages() const { return average_; }
    std::int64_t updates() const { return updates_; }
    /// Continues from `averages` after `updates` updates.
    void restore(std::int64_t updates, std::vector<double> averages);

private:
    Settings settings_;
    std::int64_t updates_ = 0;
    std::vector<double> average_;
    std::vector<bool> begun_;
};

}  // namespace plimsoll
