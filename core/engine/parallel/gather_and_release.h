// SPDX-License-Identifier: Apache-2.0
// ZeRO-3's parameters have memory only while they are used.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "core/engine/parallel/buckets.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Gathers the parameters of a unit from everyone's shards before they are used, and frees them afterwards. Nested uses
/// are counted. Under stages 0 to 2, where parameters stay, nothing moves.
class GatherAndRelease {
public:
    GatherAndRelease(Buckets& buckets, Collectives& ranks);

    /// On its way from here on. On every rank the same calls in the same order.
    void start(std::size_t unit);
    /// There when it returns.
    void gather(std::size_t unit);
    void release(std::size_t unit);

private:
    struct Use {
        int count = 0;
        std::shared_ptr<Work> gathering;  ///< null: none on its way
    };

    Buckets& buckets_;
    Collectives& ranks_;
    std::vector<Use> uses_;  ///< by bucket
};

}  // namespace plimsoll::engine
