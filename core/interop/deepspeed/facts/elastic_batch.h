// SPDX-License-Identifier: Apache-2.0
// A batch that the most numbers of GPUs can share without a rest: DeepSpeed's elasticity 0.1 and 0.2
// (elasticity/elasticity.py of 0.18.9), which DeepSpeed itself dropped with 0.19.8.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/result.h"

namespace plimsoll {

struct ElasticRange {
    std::int64_t max_batch = 0;                 ///< sequences a step, at most
    std::vector<std::int64_t> micro_batches{};  ///< sequences that a GPU can take at once
    std::int64_t min_gpus = 1;
    std::int64_t max_gpus = 0;  ///< 0: as many as the batch has micro-batches
    bool prefer_larger = true;  ///< of two batches that suit equally many numbers of GPUs
};

struct ElasticBatch {
    std::int64_t batch = 0;
    std::vector<std::int64_t> gpus;  ///< numbers of GPUs that share it without a rest, ascending
};

/// Candidates are each micro-batch and their least common multiple, times the largest highly composite number that
/// stays below max_batch. Error where a micro-batch is not above 0 or larger than max_batch, or the range is empty.
Result<ElasticBatch> elastic_batch(const ElasticRange& range);

struct ElasticNodes {
    std::int64_t gpus_per_node = 1;
    std::int64_t model_parallel = 1;  ///< GPUs that share a copy of the model; divides gpus_per_node
};
/// Elasticity 0.2, which counts whole nodes, for `ranks` data-parallel ranks: the batch of the range, or, where they do
/// not share it and are as many as GPUs, one of their own. `gpus` are then numbers of data-parallel ranks; a batch of 0
/// means that max_batch is too small for the ranks, which DeepSpeed then refuses.
Result<ElasticBatch> elastic_batch_of_nodes(const ElasticRange& range, const ElasticNodes& nodes, std::int64_t ranks);

/// Of `range.micro_batches`, the largest that `gpus` can take the batch in, and how many of it a step; 0 where the
/// batch does not divide.
struct ElasticShare {
    std::int64_t micro_batch = 0;
    std::int64_t accumulation = 0;
};
ElasticShare elastic_share(const ElasticRange& range, const ElasticBatch& batch, std::int64_t gpus);

}  // namespace plimsoll
