// SPDX-License-Identifier: Apache-2.0
// A batch that the most numbers of GPUs can share without a rest: DeepSpeed's elasticity 0.1
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

/// Of `range.micro_batches`, the largest that `gpus` can take the batch in, and how many of it a step; 0 where the
/// batch does not divide.
struct ElasticShare {
    std::int64_t micro_batch = 0;
    std::int64_t accumulation = 0;
};
ElasticShare elastic_share(const ElasticRange& range, const ElasticBatch& batch, std::int64_t gpus);

}  // namespace plimsoll
