// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace plimsoll {
namespace {

/// Cells of the table of (stage, layer): a second of work.
constexpr double most_cells = 4e6;

/// Layers alike on every stage, with something more on the first and the last.
StageCost cost_of(const std::vector<Seconds>& layer_times, int stages, Seconds first_extra, Seconds last_extra) {
    std::vector<Seconds> before(layer_times.size() + 1, 0);  // before[l]: time of layers 0 to l - 1
    std::partial_sum(layer_times.begin(), layer_times.end(), before.begin() + 1);
    return [=, before = std::move(before)](int stage, std::size_t from, std::size_t to) {
        return before[to] - before[from] + (stage == 0 ? first_extra : 0) + (stage + 1 == stages ? last_extra : 0);
    };
}

}  // namespace

Partition partition_of(const std::vector<std::int64_t>& layers, std::size_t count, const StageCost& cost) {
    Partition partition{layers, {}, 0, 0};
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        const auto to = std::min(count, next + static_cast<std::size_t>(layers[stage]));
        partition.times.push_back(cost(static_cast<int>(stage), next, to));
        partition.slowest = std::max(partition.slowest, partition.times.back());
        next = to;
    }
    const auto mean = std::accumulate(partition.times.begin(), partition.times.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(partition.times.size(), 1));
    partition.imbalance = mean > 0 ? partition.slowest / mean - 1 : 0;
    return partition;
}

Result<Partition> balanced_partition(std::size_t count, int stages, const StageCost& cost) {
    if (stages < 1)
        return bad_input("a model is split into at least 1 stage, not {}; set layout.pp to 1 or more", stages);
    if (count < static_cast<std::size_t>(stages))
        return bad_input("{} stages are more than the {} layers, and each needs one; take {} stages or fewer", stages,
                         count, count);
    if (static_cast<double>(count) * stages > most_cells)
        return bad_input("{} layers over {} stages are too many to balance; set layout.split to even", count, stages);
    // slowest[s][l]: the time of the slowest of stages s.. when they hold layers l..; cut[s][l]: the layer at which
    // stage s ends.
    const auto s_count = static_cast<std::size_t>(stages);
    std::vector<std::vector<Seconds>> slowest(s_count, std::vector<Seconds>(count + 1));
    std::vector<std::vector<std::size_t>> cut(s_count, std::vector<std::size_t>(count + 1));
    for (std::size_t s = s_count; s-- > 0;) {
        const auto after = s_count - 1 - s;  // stages behind this one, each with at least one layer
        for (std::size_t from = s; from + 1 + after <= count; ++from) {
            const int stage = static_cast<int>(s);
            if (after == 0) {
                slowest[s][from] = cost(stage, from, count);
                cut[s][from] = count;
                continue;
            }
            // The best cut is the first one at which this stage is no faster than the best split of the rest, or the
            // cut before it.
            std::size_t low = from + 1, high = count - after;
            while (low < high) {
                const auto middle = low + (high - low) / 2;
                if (cost(stage, from, middle) >= slowest[s + 1][middle])
                    high = middle;
                else
                    low = middle + 1;
            }
            const auto worst = [&](std::size_t to) { return std::max(cost(stage, from, to), slowest[s + 1][to]); };
            const auto best = low > from + 1 && worst(low - 1) <= worst(low) ? low - 1 : low;
            slowest[s][from] = worst(best);
            cut[s][from] = best;
        }
    }
    std::vector<std::int64_t> layers;
    for (std::size_t s = 0, from = 0; s < s_count; ++s) {
        layers.push_back(static_cast<std::int64_t>(cut[s][from] - from));
        from = cut[s][from];
    }
    return partition_of(layers, count, cost);
}

Partition partition_of(const std::vector<std::int64_t>& layers, const std::vector<Seconds>& layer_times,
                       Seconds first_extra, Seconds last_extra) {
    return partition_of(layers, layer_times.size(),
                        cost_of(layer_times, static_cast<int>(layers.size()), first_extra, last_extra));
}

Result<Partition> balanced_partition(const std::vector<Seconds>& layer_times, int stages, Seconds first_extra,
                                     Seconds last_extra) {
    const auto usable = [](Seconds t) { return std::isfinite(t) && t >= 0; };
    if (!std::all_of(layer_times.begin(), layer_times.end(), usable) || !usable(first_extra) || !usable(last_extra))
        return bad_input("a layer's time is negative or not a number; times must be finite and 0 or more");
    return balanced_partition(layer_times.size(), stages, cost_of(layer_times, stages, first_extra, last_extra));
}

}  // namespace plimsoll
