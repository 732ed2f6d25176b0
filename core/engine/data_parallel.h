// SPDX-License-Identifier: Apache-2.0
// Gradient averaging over data-parallel ranks in buckets, overlapped with backward.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/collectives.h"

namespace plimsoll::engine {

/// Buckets of about `bucket_bytes` in reverse parameter order (the order in which gradients appear); gradients are
/// views into their bucket, a bucket's all-reduce starts when its last gradient is ready, in the same order on every
/// rank. Unused parameters count as zero gradients.
///
/// A weight that is used in several places (a tied head) usually gets one gradient a backward, but one a place under
/// reentrant recomputation. How many come is counted in the first backward, whose buckets are sent at its end.
class DataParallel {
public:
    /// With `fp32_gradients` half-precision gradients are accumulated, reduced and handed to the optimizer in fp32.
    DataParallel(std::vector<std::pair<std::string, torch::Tensor>> named_parameters, Collectives& collectives,
                 Bytes bucket_bytes, bool fp32_gradients = false);
    ~DataParallel();
    DataParallel(const DataParallel&) = delete;
    DataParallel& operator=(const DataParallel&) = delete;

    /// Rank 0's weights to everyone. The gradients are zero afterwards.
    Result<void> broadcast_parameters();
    /// Before the backward of each micro-batch; only the last one of a step reduces.
    void prepare_backward(bool reduce);
    /// After the last backward: waits for all buckets; gradients then hold the mean over ranks.
    Result<void> finish();
    void zero_gradients();
    std::size_t bucket_count() const;
    /// Buckets of the last step whose all-reduce had started before its backward ended.
    std::size_t overlapped_buckets() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace plimsoll::engine
