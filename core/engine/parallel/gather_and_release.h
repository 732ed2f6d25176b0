// SPDX-License-Identifier: Apache-2.0
// Gathering of parameters under ZeRO-3, which gives them memory only while they are in use.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <vector>

#include "core/engine/parallel/buckets.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Gathers the parameters of a unit from the shards of all ranks before they are used, and frees them afterwards. Nested
/// uses are counted. Under stages 0 to 2 parameters stay, and nothing is gathered. The arguments must outlive the object.
class GatherAndRelease {
public:
    GatherAndRelease(Buckets& buckets, Collectives& ranks);

    /// Starts to gather. All ranks have to make the same calls in the same order.
    void start(std::size_t unit);
    /// Waits until the parameters are gathered.
    void gather(std::size_t unit);
    void release(std::size_t unit);

private:
    struct Use {
        int count = 0;
        std::shared_ptr<Work> gathering;  ///< null: no gather is in progress
    };

    Buckets& buckets_;
    Collectives& ranks_;
    std::vector<Use> uses_;  ///< by bucket
};

}  // namespace plimsoll::engine
