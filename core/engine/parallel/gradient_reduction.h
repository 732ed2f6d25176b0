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

/// Takes gradients from autograd as they arrive and puts them into their buckets. A bucket is sent when its last
/// gradient has arrived, in the same order on every rank: all-reduced (stage 0), or reduce-scattered so that each rank
/// gets the sum of its own shard. Unused parameters count as zero gradients.
///
/// A weight that is used in several places (a tied head) usually gets one gradient per backward, but one gradient per
/// place of use under reentrant recomputation. The first backward counts the gradients of each weight; its buckets are
/// therefore sent at its end.
class GradientReduction {
public:
    /// `before_reduction` sees each bucket with this rank's own gradients before the bucket is sent. The arguments must
    /// outlive the object.
    GradientReduction(Buckets& buckets, Collectives& ranks, std::function<void(const Bucket&)> before_reduction);
    /// Takes hooks and gradients off the weights.
    ~GradientReduction();
    GradientReduction(const GradientReduction&) = delete;
    GradientReduction& operator=(const GradientReduction&) = delete;

    /// To be called before each backward. `reduce`: buckets are sent in this backward (from ZeRO-2 on, in each).
    void prepare(bool reduce);
    /// To be called when the gradients of a pipeline chunk are complete: sends the chunk's buckets, except those of one
    /// parameter alone, since a tied weight may belong to another chunk too. Stages 0 and 1.
    void flush(std::size_t chunk);
    /// Sends the remaining buckets and waits for all of them. Gradients (from ZeRO-1 on, their shards) then hold the mean.
    Result<void> finish();

    /// Buckets of the last step whose reduction had started before its last backward ended.
    std::size_t overlapped() const { return overlapped_; }

private:
    struct Arrivals {
        int expected = 0;  ///< gradients per backward; 0: not counted yet
        int came = 0;
    };
    struct Transit {
        int pending = 0;           ///< slots whose gradients have not all arrived
        bool sent = false;         ///< by flush(), in this step
        torch::Tensor travelling;  ///< the tensor that the collective works on
        torch::Tensor reduced;     ///< the result of a reduce-scatter
        std::shared_ptr<Work> work;
    };

    /// Whether autograd adds gradients straight into the bucket.
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
    std::string late_;  ///< a parameter whose gradient arrived after its bucket was sent
    Result<void> failure_;
};

}  // namespace plimsoll::engine
