// SPDX-License-Identifier: Apache-2.0
#include "core/control/batch_rules.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

double batch_rule_factor(BatchRule rule, double tokens, double reference) {
    const double ratio = tokens / reference;
    switch (rule) {
        case BatchRule::Sqrt:
            return std::sqrt(ratio);
        case BatchRule::Linear:
            return ratio;
        case BatchRule::Switch: {
            // Both pieces meet at the switch, so the rate has no jump there.
            const auto grown = [](double batch) {
                return batch <= batch_rule_switch ? std::sqrt(batch / batch_rule_switch) : batch / batch_rule_switch;
            };
            return grown(tokens) / grown(reference);
        }
        case BatchRule::None:
            break;
    }
    return 1;
}

double tokens_per_batch(const Plan& plan) {
    return static_cast<double>(plan.layout.global_batch()) * static_cast<double>(plan.data.sequence_length);
}

double peak_learning_rate(const Plan& plan) {
    if (plan.lr.batch_rule == BatchRule::None) return plan.optimizer.lr;
    return plan.optimizer.lr *
           batch_rule_factor(plan.lr.batch_rule, tokens_per_batch(plan), static_cast<double>(plan.lr.batch_reference));
}

std::optional<NoiseEstimate> noise_estimate(const NormSample& small, const NormSample& big) {
    if (!(small.batch > 0) || !(big.batch > small.batch)) return std::nullopt;
    return NoiseEstimate{
        .gradient = (big.batch * big.squared_norm - small.batch * small.squared_norm) / (big.batch - small.batch),
        .noise = (small.squared_norm - big.squared_norm) / (1 / small.batch - 1 / big.batch)};
}

void NoiseScale::add(const NoiseEstimate& estimate) {
    if (!std::isfinite(estimate.gradient) || !std::isfinite(estimate.noise)) return;
    sum_.gradient += estimate.gradient;
    sum_.noise += estimate.noise;
    ++count_;
}

std::optional<double> NoiseScale::value() const {
    if (!(sum_.gradient > 0) || !(sum_.noise > 0)) return std::nullopt;
    return sum_.noise / sum_.gradient;
}

double steps_ratio(double batch, double noise_scale) { return 1 + noise_scale / batch; }

double examples_ratio(double batch, double noise_scale) { return 1 + batch / noise_scale; }

bool bigger_batch_pays(double batch, double noise_scale) { return batch <= noise_scale; }

}  // namespace plimsoll
