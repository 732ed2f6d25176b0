// SPDX-License-Identifier: Apache-2.0
// The split of a model's layers over pipeline stages that keeps the slowest stage as fast as can be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace plimsoll {

struct Partition {
    std::vector<std::int64_t> layers;  ///< per stage, in order
    std::vector<Seconds> times;        ///< per stage
    Seconds slowest = 0;
    double imbalance = 0;  ///< slowest / mean - 1: 0 when all are alike
};

/// The time of a stage that holds the layers `from` to `to` - 1; it grows with its layers.
using StageCost = std::function<Seconds(int stage, std::size_t from, std::size_t to)>;

/// Cuts `count` layers (in the model's order) into `stages` contiguous groups of at least one layer. Exact: dynamic
/// programming over (stage, last layer), the cut found by bisection, since a stage's time grows with its layers and the
/// rest's shrinks (Pinar and Aykanat 2004, "Fast optimal load balancing algorithms for 1D partitioning"). Of the splits
/// with the same slowest stage, the one whose early stages hold least is returned. Error for fewer layers than stages
/// and for more than 4 million stages x layers.
Result<Partition> balanced_partition(std::size_t count, int stages, const StageCost& cost);
/// The times of a given split.
Partition partition_of(const std::vector<std::int64_t>& layers, std::size_t count, const StageCost& cost);

/// The same for layers alike on every stage: stage 0 takes `first_extra` more (the embedding), the last one
/// `last_extra` (the head). Error too for times that are negative or not finite.
Result<Partition> balanced_partition(const std::vector<Seconds>& layer_times, int stages, Seconds first_extra = 0,
                                     Seconds last_extra = 0);
Partition partition_of(const std::vector<std::int64_t>& layers, const std::vector<Seconds>& layer_times,
                       Seconds first_extra = 0, Seconds last_extra = 0);

}  // namespace plimsoll
