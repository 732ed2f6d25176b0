// SPDX-License-Identifier: Apache-2.0
#include "core/control/robust_window.h"

#include <algorithm>
#include <cmath>

#include "core/base/median.h"

namespace plimsoll {

namespace {

constexpr double mad_to_sigma = 1.4826;  // of a normal distribution
constexpr double mean_off_to_sigma = 1.2533;
constexpr double outlier_mads = 5;
constexpr double zclip_weight = 0.97;
constexpr double least_deviation = 0.01;  // of the centre

struct Spread {
    double centre = 0, deviation = 0;
};

Spread of_mad(const std::vector<double>& samples) {
    const double centre = median(samples);
    std::vector<double> off;
    for (const double sample : samples) off.push_back(std::abs(sample - centre));
    double sum = 0;
    for (const double each : off) sum += each;
    const double mean_off = sum / static_cast<double>(off.size());
    const double mad = median(std::move(off));
    // More than half of the samples are alike: the mean distance has to do (Iglewicz and Hoaglin 1993).
    return {centre, mad > 0 ? mad_to_sigma * mad : mean_off_to_sigma * mean_off};
}

Spread of_moments(const std::vector<double>& samples) {
    double sum = 0, squares = 0;
    for (const double sample : samples) sum += sample;
    const double mean = sum / static_cast<double>(samples.size());
    for (const double sample : samples) squares += (sample - mean) * (sample - mean);
    return {mean, std::sqrt(squares / static_cast<double>(std::max<std::size_t>(samples.size() - 1, 1)))};
}

Spread of_sigma(const std::vector<double>& samples) {
    const Spread robust = of_mad(samples);
    const double reach = outlier_mads * std::max(robust.deviation, least_deviation * std::abs(robust.centre));
    std::vector<double> kept;
    for (const double sample : samples) {
        if (std::abs(sample - robust.centre) <= reach) kept.push_back(sample);
    }
    return of_moments(kept.empty() ? samples : kept);
}

double usual_threshold(GuardDetector detector) {
    return detector == GuardDetector::Mad ? 5 : detector == GuardDetector::ZClip ? 2.5 : 3;
}

}  // namespace

RobustWindow::RobustWindow(GuardDetector detector, std::int64_t window, std::int64_t warmup, double threshold)
    : detector_(detector),
      window_(static_cast<std::size_t>(std::max<std::int64_t>(window, 2))),
      warmup_(std::max<std::int64_t>(warmup, 2)),
      threshold_(threshold > 0 ? threshold : usual_threshold(detector)) {}

Judgement RobustWindow::judge(double value) const {
    Judgement judgement;
    if (detector_ == GuardDetector::Off || state_.seen < warmup_) return judgement;
    const Spread spread = detector_ == GuardDetector::ZClip ? Spread{state_.mean, std::sqrt(state_.variance)}
                          : detector_ == GuardDetector::Mad ? of_mad(state_.samples)
                                                            : of_sigma(state_.samples);
    const double deviation =
        std::max({spread.deviation, least_deviation * std::abs(spread.centre), std::numeric_limits<double>::min()});
    judgement.judged = true;
    judgement.centre = spread.centre;
    judgement.deviations = (value - spread.centre) / deviation;
    judgement.threshold = spread.centre + threshold_ * deviation;
    judgement.clip_to = judgement.threshold;
    judgement.anomaly = value > judgement.threshold;
    if (judgement.anomaly && detector_ == GuardDetector::ZClip) {
        judgement.clip_to = spread.centre + threshold_ * threshold_ / judgement.deviations * deviation;
    }
    return judgement;
}

void RobustWindow::feed(double value, const Judgement& judgement) {
    if (detector_ == GuardDetector::Off) return;
    const double fed = judgement.anomaly ? judgement.clip_to : value;
    ++state_.seen;
    if (detector_ == GuardDetector::ZClip && state_.seen > warmup_) {
        // The deviation is from the mean before, as in the reference's update.
        const double off = fed - state_.mean;
        state_.mean = zclip_weight * state_.mean + (1 - zclip_weight) * fed;
        state_.variance = zclip_weight * state_.variance + (1 - zclip_weight) * off * off;
        return;
    }
    state_.samples.push_back(fed);
    if (detector_ == GuardDetector::ZClip) {
        if (state_.seen < warmup_) return;
        const Spread spread = of_moments(state_.samples);
        state_.mean = spread.centre;
        state_.variance = spread.deviation * spread.deviation;
        state_.samples.clear();
    } else if (state_.samples.size() > window_) {
        state_.samples.erase(state_.samples.begin());
    }
}

Json to_json(const RobustWindow::State& state) {
    return {{"samples", state.samples}, {"seen", state.seen}, {"mean", state.mean}, {"variance", state.variance}};
}

RobustWindow::State window_state(const Json& json) {
    return {.samples = json.at("samples").get<std::vector<double>>(),
            .seen = json.at("seen").get<std::int64_t>(),
            .mean = json.at("mean").get<double>(),
            .variance = json.at("variance").get<double>()};
}

}  // namespace plimsoll
