// SPDX-License-Identifier: Apache-2.0
// How large this rank's own gradients are before they are reduced, for the gradient noise scale.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "core/engine/parallel/buckets.h"

namespace plimsoll::engine {

/// Sums up squares while it is on. Gradients come on the autograd engine's threads.
class NoiseMeter {
public:
    explicit NoiseMeter(const Buckets& buckets) : buckets_(buckets) {}

    /// From 0. `counts`: the parameters that count, by their index among those that train.
    void start(std::vector<bool> counts);
    void stop();
    /// The gradients that the bucket holds now; nothing while it is off.
    void add(const Bucket& bucket);
    void add_all();
    double squares() const { return squares_; }

private:
    const Buckets& buckets_;
    std::mutex mutex_;
    std::optional<std::vector<bool>> counts_;
    double squares_ = 0;
};

}  // namespace plimsoll::engine
