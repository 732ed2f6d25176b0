// SPDX-License-Identifier: Apache-2.0
// Peaks of many layouts of one plan, as fast as a search needs them.
#pragma once

#include <limits>
#include <memory>

#include "core/plan/plan.h"

namespace plimsoll {

/// The fullest rank's bytes under a layout: the value of estimate_memory(plan).fullest().total() without formulas and
/// sources. Parts that do not change from one layout to the next (the stages' parameters, a layer's tensors,
/// micro-batches in flight) are kept, so a search whose inner loops change ZeRO, recomputation, offload and
/// accumulation is fastest. For one thread.
class PeakCounter {
public:
    explicit PeakCounter(const Plan& plan);
    ~PeakCounter();
    PeakCounter(const PeakCounter&) = delete;
    PeakCounter& operator=(const PeakCounter&) = delete;

    /// The layout has to be possible (check_plan). A schedule from a file is not read: layout.schedule counts. Beyond
    /// `limit` only that it is beyond: the first rank found to need more ends the count.
    std::int64_t fullest(const Layout& layout, std::int64_t limit = std::numeric_limits<std::int64_t>::max());

    /// A lower bound of fullest() that costs less: the states of the first rank and the activations that its layers
    /// keep.
    std::int64_t at_least(const Layout& layout);

    /// What the fullest rank's weights, gradients and optimizer states alone take: never more than fullest(), whatever
    /// the micro-batch, schedule's order, recomputation and offload of activations. The layout has to be possible.
    std::int64_t states(const Layout& layout);

    /// Host memory of the rank that offloads most: estimate_memory(plan).host.
    std::int64_t host(const Layout& layout);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll
