// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/elastic_batch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

namespace plimsoll {

namespace {

/// Numbers with more divisors than any smaller one (OEIS A002182), those that DeepSpeed lists.
constexpr std::array<std::int64_t, 38> highly_composite{
    1,     2,     4,     6,      12,     24,     36,     48,     60,     120,    180,    240,   360,
    720,   840,   1260,  1680,   2520,   5040,   7560,   10080,  15120,  20160,  25200,  27720, 45360,
    50400, 55440, 83160, 110880, 166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720};
constexpr std::int64_t most = 1'000'000'000;

std::int64_t candidate(std::int64_t base, std::int64_t max_batch) {
    if (base >= max_batch) return base;
    const auto above = std::upper_bound(highly_composite.begin(), highly_composite.end(), max_batch / base);
    return *std::prev(above) * base;
}

std::vector<std::int64_t> shares(std::int64_t batch, const ElasticRange& range) {
    std::set<std::int64_t> gpus;
    for (const std::int64_t micro : range.micro_batches) {
        if (batch % micro != 0) continue;
        const std::int64_t pieces = batch / micro;
        for (std::int64_t i = 1; i * i <= pieces; ++i) {
            if (pieces % i != 0) continue;
            for (const std::int64_t each : {i, pieces / i}) {
                if (each >= range.min_gpus && each <= range.max_gpus) gpus.insert(each);
            }
        }
    }
    return {gpus.begin(), gpus.end()};
}

/// A batch for so many ranks alone: a multiple of what one micro-batch a rank makes, just below max_batch. In floating
/// point, as DeepSpeed computes it: where nodes and ranks do not divide, its number of ranks may be one short.
ElasticBatch batch_of_its_own(const ElasticRange& range, const ElasticNodes& nodes, std::int64_t ranks) {
    const std::int64_t a_node = nodes.gpus_per_node / nodes.model_parallel;
    const double data_parallel =
        static_cast<double>(ranks) / static_cast<double>(nodes.gpus_per_node) * static_cast<double>(a_node);
    std::vector<double> batches;
    for (const std::int64_t micro : range.micro_batches) {
        const double least = static_cast<double>(micro) * data_parallel;
        batches.push_back(std::floor(static_cast<double>(range.max_batch) / least) * least);
    }
    const auto [smallest, largest] = std::minmax_element(batches.begin(), batches.end());
    return {static_cast<std::int64_t>(range.prefer_larger ? *largest : *smallest),
            {static_cast<std::int64_t>(data_parallel)}};
}

}  // namespace

Result<ElasticBatch> elastic_batch(const ElasticRange& asked) {
    ElasticRange range = asked;
    if (range.micro_batches.empty()) return bad_input("micro_batch_sizes is empty: list what a GPU can take at once");
    if (range.max_batch < 1 || range.max_batch > most) {
        return bad_input("max_train_batch_size is {}: 1 to {} is possible", range.max_batch, most);
    }
    for (const std::int64_t micro : range.micro_batches) {
        if (micro < 1) return bad_input("micro_batch_sizes has {}: each has to be above 0", micro);
        if (micro > range.max_batch) {
            return bad_input("micro_batch_sizes has {}, more than max_train_batch_size {}", micro, range.max_batch);
        }
    }
    const std::int64_t smallest = *std::min_element(range.micro_batches.begin(), range.micro_batches.end());
    range.min_gpus = std::max<std::int64_t>(range.min_gpus, 1);
    if (range.max_gpus == 0) range.max_gpus = range.max_batch / smallest;

    std::vector<std::int64_t> bases = range.micro_batches;
    std::int64_t common = 1;
    for (const std::int64_t micro : range.micro_batches) common = std::min(std::lcm(common, micro), most);
    bases.push_back(common);
    ElasticBatch best{smallest, {}};
    bool found = false;
    std::set<std::int64_t> candidates;
    for (const std::int64_t base : bases) candidates.insert(candidate(base, range.max_batch));
    for (const std::int64_t batch : candidates) {
        std::vector<std::int64_t> gpus = shares(batch, range);
        const bool preferred = range.prefer_larger ? batch > best.batch : batch < best.batch;
        if (gpus.size() > best.gpus.size() || (gpus.size() == best.gpus.size() && preferred)) {
            best = {batch, std::move(gpus)};
            found = true;
        }
    }
    if (!found) {
        return bad_input("no number of GPUs from min_gpus {} to max_gpus {} shares a batch up to {}", range.min_gpus,
                         range.max_gpus, range.max_batch);
    }
    return best;
}

Result<ElasticBatch> elastic_batch_of_nodes(const ElasticRange& range, const ElasticNodes& nodes, std::int64_t ranks) {
    if (ranks < 1) return bad_input("there are {} data-parallel ranks: elasticity 0.2 needs 1 or more", ranks);
    if (nodes.gpus_per_node < 1 || nodes.model_parallel < 1 || nodes.gpus_per_node % nodes.model_parallel != 0) {
        return bad_input("model_parallel_size {} does not divide num_gpus_per_node {}", nodes.model_parallel,
                         nodes.gpus_per_node);
    }
    const std::int64_t a_node = nodes.gpus_per_node / nodes.model_parallel;
    ElasticRange of_nodes = range;
    of_nodes.max_batch /= a_node;
    of_nodes.min_gpus /= nodes.gpus_per_node;
    of_nodes.max_gpus /= nodes.gpus_per_node;  // fewer GPUs than a node has: no limit, as DeepSpeed takes it
    auto batch = elastic_batch(of_nodes);
    if (!batch) return batch;
    batch->batch *= a_node;
    for (std::int64_t& each : batch->gpus) each *= a_node;
    const bool shared = std::binary_search(batch->gpus.begin(), batch->gpus.end(), ranks / nodes.model_parallel);
    return shared ? batch : batch_of_its_own(range, nodes, ranks);
}

ElasticShare elastic_share(const ElasticRange& range, const ElasticBatch& batch, std::int64_t gpus) {
    if (gpus < 1 || batch.batch % gpus != 0) return {};
    const std::int64_t each = batch.batch / gpus;
    ElasticShare share;
    for (const std::int64_t micro : range.micro_batches) {
        if (each % micro != 0) continue;
        if (micro > share.micro_batch) share = {micro, each / micro};
    }
    return share;
}

}  // namespace plimsoll
