// SPDX-License-Identifier: Apache-2.0
// Gradient averaging over data-parallel ranks, bucket by bucket, while backward goes on.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/engine/parallel/buckets.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Takes gradients from autograd as they come and puts them into their buckets. A bucket travels when its last gradient
/// is there, in the same order on every rank: all-reduced (stage 0), or reduce-scattered so that each rank gets the sum
/// of its own shard. Unused parameters count as zero gradients.
///
/// A weight that is used in several places (a tied head) usually gets one gradient a backward, but one a place under
/// reentrant recomputation. How many come is counted in the first backward, whose buckets are sent at its end.
class GradientReduction {
public:
    /// `before_reduction` sees a bucket with this rank's own gradients before it travels. What it is given outlives it.
    GradientReduction(Buckets& buckets, Collectives& ranks, std::function<void(const Bucket&)> before_reduction);
    /// Weights are ordinary again: without hooks and gradients.
    ~GradientReduction();
    GradientReduction(const GradientReduction&) = delete;
    GradientReduction& operator=(const GradientReduction&) = delete;

    /// Before each backward. `reduce`: buckets travel in it (from ZeRO-2 on they do in each).
    void prepare(bool reduce);
    /// The gradients of a pipeline chunk are whole: its buckets travel from here on, except those of one parameter
    /// alone, since a tied weight may belong to another chunk too. Stages 0 and 1.
    void flush(std::size_t chunk);
    /// Sends what has not been sent, and waits for all: gradients (ZeRO-1 and up: their shards) then hold the mean.
    Result<void> finish();

    /// Buckets of the last step whose reduction had started before its last backward ended.
    std::size_t overlapped() const { return overlapped_; }

private:
    struct Arrivals {
        int expected = 0;  ///< gradients a backward; 0: not counted yet
        int came = 0;
    };
    struct Transit {
        int pending = 0;           ///< slots whose gradients have not all come
        bool sent = false;         ///< by flush(), in this step
        torch::Tensor travelling;  ///< what the collective works on
        torch::Tensor reduced;     ///< for a reduce-scatter its result
        std::shared_ptr<Work> work;
    };

    /// Autograd adds into the bucket in place, so that nothing has to be taken over.
    bool adds_in_place(const Slot& slot) const;
    void attach_gradients();
    void arrived(std::size_t slot, const torch::Tensor& parameter);
    void send(Bucket& bucket);
    void complete(Bucket& bucket);

    Buckets& buckets_;
    Collectives& ranks_;
    std::function<void(const Bucket&)> before_reduction_;
    std::mutex mutex_;                ///< hooks run on the autograd engine's threads
    std::vector<Arrivals> arrivals_;  ///< by slot
    std::vector<Transit> transits_;   ///< by bucket
    bool reducing_ = false;
    std::size_t next_ = 0;  ///< the bucket to send next: the order is the same on all ranks
    std::size_t overlapped_ = 0;
    std::string late_;  ///< a parameter whose gradient came after its bucket was sent
    Result<void> failure_;
};

}  // namespace plimsoll::engine
