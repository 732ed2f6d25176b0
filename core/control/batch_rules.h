// SPDX-License-Identifier: Apache-2.0
// How the learning rate follows the batch size.
#pragma once

#include <cstdint>
#include <optional>

#include "core/plan/plan.h"

namespace plimsoll {

/// Tokens a batch above which the `switch` rule goes on linearly.
inline constexpr double batch_rule_switch = 1e6;

/// The factor on optimizer.lr for a batch of `tokens` where the rate is meant for `reference`: the root of their ratio
/// (Adam, LAMB: Malladi et al. 2022), the ratio (SGD: Goyal et al. 2017), or, under `switch`, the root up to 1M tokens
/// and in proportion from there. 1 without a rule.
double batch_rule_factor(BatchRule rule, double tokens, double reference);

/// Tokens that one update of the plan consumes, over all ranks.
double tokens_per_batch(const Plan& plan);

/// The plan's learning rate at its peak: optimizer.lr under lr.batch_rule.
double peak_learning_rate(const Plan& plan);

/// Mean of the squared gradient norm over batches of one size, in tokens or sequences.
struct NormSample {
    double batch = 0;
    double squared_norm = 0;
};

/// McCandlish et al. 2018 (1812.06162), appendix A.1: estimates the gradient without noise, and the noise, from two
/// batch sizes' gradient norms. One measurement is noisy and may come out below 0: the two estimates are averaged
/// before one is divided by the other.
struct NoiseEstimate {
    double gradient = 0;  ///< |G|^2
    double noise = 0;     ///< tr(S)
};
/// Nothing where the batches are of one size.
std::optional<NoiseEstimate> noise_estimate(const NormSample& small, const NormSample& big);

/// Averages estimates and gives the simple noise scale B = tr(S) / |G|^2, in the unit of the batches.
class NoiseScale {
public:
    void add(const NoiseEstimate& estimate);
    std::int64_t count() const { return count_; }
    /// Nothing while the averages are not above 0: too few measurements.
    std::optional<double> value() const;

private:
    NoiseEstimate sum_;
    std::int64_t count_ = 0;
};

/// Steps needed at batch `batch` as a multiple of the least possible, and examples needed as a multiple of the least
/// possible (their equation 2.11 and its like): 1 + B / batch and 1 + batch / B.
double steps_ratio(double batch, double noise_scale);
double examples_ratio(double batch, double noise_scale);
/// Whether doubling the batch still saves a quarter of the steps or more (the batch is below the noise scale).
bool bigger_batch_pays(double batch, double noise_scale);

}  // namespace plimsoll
