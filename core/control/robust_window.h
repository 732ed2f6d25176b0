// SPDX-License-Identifier: Apache-2.0
// Judges whether a number stands out from the numbers before it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"
#include "core/plan/plan.h"

namespace plimsoll {

/// A number and the statistics that it was judged by.
struct Judgement {
    bool judged = false;    ///< false during the warmup
    bool anomaly = false;   ///< above the threshold; numbers below the centre never are
    double centre = 0;      ///< of the past samples
    double deviations = 0;  ///< deviations that the number lies above the centre
    double threshold = 0;   ///< the largest number that is no anomaly
    double clip_to = 0;     ///< the number to which an anomaly is cut
};

/// Past samples only: a sample is judged first and fed afterwards, so it cannot hide in its own window (in a window of
/// n it could never stand more than (n - 1) / sqrt(n) deviations above the mean).
///
///   sigma   mean and standard deviation of the window without what lies over 5 MADs off its median
///   mad     median and 1.4826 x median absolute deviation
///   zclip   exponential averages of mean and variance with weight 0.97, begun with the warmup's samples
///           (2504.02507); an anomaly z deviations up is cut to mean + threshold^2 / z deviations
/// A deviation counts for 1 % of the centre at least: a flat curve's rounding is no anomaly.
class RobustWindow {
public:
    struct State {
        std::vector<double> samples;  ///< newest last; of zclip only until the warmup is over
        std::int64_t seen = 0;
        double mean = 0, variance = 0;  ///< zclip
        bool operator==(const State&) const = default;
    };

    RobustWindow() = default;
    /// `threshold` 0: 3 for sigma, 5 for mad, 2.5 for zclip. Off judges nothing.
    RobustWindow(GuardDetector detector, std::int64_t window, std::int64_t warmup, double threshold);

    /// `value` has to be finite.
    Judgement judge(double value) const;
    /// Feeds a judged number: an anomaly counts as the number to which it is cut, so that the window follows a curve
    /// that has moved for good.
    void feed(double value, const Judgement& judgement);

    const State& state() const { return state_; }
    void restore(State state) { state_ = std::move(state); }

private:
    GuardDetector detector_ = GuardDetector::Off;
    std::size_t window_ = 128;
    std::int64_t warmup_ = 25;
    double threshold_ = 3;
    State state_;
};

Json to_json(const RobustWindow::State& state);
/// Throws Json::exception where the document is of another form.
RobustWindow::State window_state(const Json& json);

}  // namespace plimsoll
