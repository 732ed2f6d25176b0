// SPDX-License-Identifier: Apache-2.0
#include "core/control/adagc.h"

#include <algorithm>
#include <utility>

namespace plimsoll {

std::vector<double> AdaGc::factors(const std::vector<double>& norms, double global) {
    std::vector<double> factors(norms.size(), 1.0);
    if (updates_++ < settings_.warmup) {
        const bool clips = settings_.absolute > 0 && global > settings_.absolute;
        const double factor = clips ? settings_.absolute / global : 1;
        for (std::size_t i = 0; i < norms.size(); ++i) {
            factors[i] = factor;
            const double clipped = norms[i] * factor;
            average_[i] = begun_[i] ? std::min(average_[i], clipped) : clipped;
            begun_[i] = true;
        }
        return factors;
    }
    for (std::size_t i = 0; i < norms.size(); ++i) {
        const double allowed = settings_.relative * average_[i];
        // A tensor without gradients during the warmup has nothing to be held to yet.
        if (allowed > 0 && norms[i] > allowed) factors[i] = allowed / norms[i];
        average_[i] = settings_.weight * average_[i] + (1 - settings_.weight) * norms[i] * factors[i];
    }
    return factors;
}

void AdaGc::restore(std::int64_t updates, std::vector<double> averages) {
    updates_ = updates;
    average_ = std::move(averages);
    begun_.assign(average_.size(), updates > 0);
}

}  // namespace plimsoll
