// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/schedule/times.h"

namespace plimsoll {
namespace {

struct LayerCosts {
    std::vector<Seconds> layers;
    Seconds first_extra, last_extra;
};

/// Each layer's step time and the head's, in the units of relative_stage_times.
LayerCosts layer_costs(const Plan& plan) {
    const auto count = plan.model.encoder_decoder() ? 2 * plan.model.num_layers : plan.model.num_layers;
    // One stage a layer; the last of them also holds the head, which the first layer alike does not.
    const auto times = relative_stage_times(plan, std::vector<std::int64_t>(static_cast<std::size_t>(count), 1));
    LayerCosts costs{{}, 0, 0};
    for (std::size_t l = 0; l < times.forward.size(); ++l)
        costs.layers.push_back(times.forward[l] + times.backward_input[l] + times.backward_weight[l]);
    if (costs.layers.size() > 1) {
        const auto alike = costs.layers[costs.layers.size() - 2];
        costs.last_extra = costs.layers.back() - alike;
        costs.layers.back() = alike;
    }
    return costs;
}

}  // namespace

Partition partition_of(const std::vector<std::int64_t>& layers, const std::vector<Seconds>& layer_times,
                       Seconds first_extra, Seconds last_extra) {
    Partition partition{layers, {}, 0, 0};
    std::size_t next = 0;
    for (std::size_t stage = 0; stage < layers.size(); ++stage) {
        Seconds time = stage == 0 ? first_extra : 0;
        for (std::int64_t k = 0; k < layers[stage] && next < layer_times.size(); ++k) time += layer_times[next++];
        if (stage + 1 == layers.size()) time += last_extra;
        partition.times.push_back(time);
        partition.slowest = std::max(partition.slowest, time);
    }
    const auto mean = std::accumulate(partition.times.begin(), partition.times.end(), 0.0) /
                      static_cast<double>(std::max<std::size_t>(partition.times.size(), 1));
    partition.imbalance = mean > 0 ? partition.slowest / mean - 1 : 0;
    return partition;
}

Result<Partition> balanced_partition(const std::vector<Seconds>& layer_times, int stages, Seconds first_extra,
                                     Seconds last_extra) {
    const auto count = layer_times.size();
    if (stages < 1)
        return bad_input("a model is split into at least 1 stage, not {}; set layout.pp to 1 or more", stages);
    if (count < static_cast<std::size_t>(stages))
        return bad_input("{} stages are more than the {} layers, and each needs one; take {} stages or fewer", stages,
                         count, count);
    const auto usable = [](Seconds t) { return std::isfinite(t) && t >= 0; };
    if (!std::all_of(layer_times.begin(), layer_times.end(), usable) || !usable(first_extra) || !usable(last_extra))
        return bad_input("a layer's time is negative or not a number; times must be finite and 0 or more");

    std::vector<Seconds> before(count + 1, 0);  // before[l]: time of layers 0 to l - 1
    std::partial_sum(layer_times.begin(), layer_times.end(), before.begin() + 1);
    const auto stage_time = [&](int stage, std::size_t from, std::size_t to) {
        return before[to] - before[from] + (stage == 0 ? first_extra : 0) + (stage + 1 == stages ? last_extra : 0);
    };
    // slowest[s][l]: the slowest of stages s.. when they hold layers l..; cut[s][l]: where stage s ends.
    const auto s_count = static_cast<std::size_t>(stages);
    std::vector<std::vector<Seconds>> slowest(s_count, std::vector<Seconds>(count + 1));
    std::vector<std::vector<std::size_t>> cut(s_count, std::vector<std::size_t>(count + 1));
    for (std::size_t s = s_count; s-- > 0;) {
        const auto after = s_count - 1 - s;  // stages that follow, each with a layer at least
        for (std::size_t from = s; from + 1 + after <= count; ++from) {
            const int stage = static_cast<int>(s);
            if (after == 0) {
                slowest[s][from] = stage_time(stage, from, count);
                cut[s][from] = count;
                continue;
            }
            // The first cut at which this stage is no faster than the best of the rest, or the one before it.
            std::size_t low = from + 1, high = count - after;
            while (low < high) {
                const auto middle = low + (high - low) / 2;
                if (stage_time(stage, from, middle) >= slowest[s + 1][middle])
                    high = middle;
                else
                    low = middle + 1;
            }
            const auto worst = [&](std::size_t to) {
                return std::max(stage_time(stage, from, to), slowest[s + 1][to]);
            };
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
    return partition_of(layers, layer_times, first_extra, last_extra);
}

Result<Partition> balanced_partition(const Plan& plan) {
    const auto costs = layer_costs(plan);
    const auto stages = std::max<std::int64_t>(plan.layout.pp, 1) * chunks_per_rank(plan);
    const auto most = static_cast<std::int64_t>(costs.layers.size());
    if (stages > most)
        return bad_input("{} stages are more than the {} layers, and each needs one; take {} stages or fewer", stages,
                         most, most);
    return balanced_partition(costs.layers, static_cast<int>(stages), costs.first_extra, costs.last_extra);
}

Partition partition_of(const Plan& plan) {
    const auto costs = layer_costs(plan);
    return partition_of(layers_per_stage(plan), costs.layers, costs.first_extra, costs.last_extra);
}

}  // namespace plimsoll
