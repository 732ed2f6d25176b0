// SPDX-License-Identifier: Apache-2.0
// Size of this rank's own gradients before the reduction, for the gradient noise scale.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "core/engine/parallel/buckets.h"

namespace plimsoll::engine {

/// Sums the squares of gradients while it is on. Threads of the autograd engine may call add().
class OwnSquares {
public:
    explicit OwnSquares(const Buckets& buckets) : buckets_(buckets) {}

    /// Starts a sum at 0. `counts` tells which parameters are summed, by index among those that train.
    void start(std::vector<bool> counts);
    void stop();
    /// Adds the gradients that the bucket holds now; does nothing while it is off.
    void add(const Bucket& bucket);
    void add_all();
    double sum() const { return sum_; }

private:
    const Buckets& buckets_;
    std::mutex mutex_;
    std::optional<std::vector<bool>> counts_;
    double sum_ = 0;
};

}  // namespace plimsoll::engine
