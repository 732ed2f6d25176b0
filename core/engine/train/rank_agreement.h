// SPDX-License-Identifier: Apache-2.0
// What the ranks of a run tell one another beside their steps, so that all of them do the same.
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <cstdint>
#include <functional>

#include "core/base/result.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

/// Every rank makes the same calls in the same order.
class RankAgreement {
public:
    /// Messages are CPU tensors, whose calls block the rank and may take as long as they are given. `stop` is null where
    /// nobody can ask for a stop; else it has to outlive this, as the ranks do.
    RankAgreement(Collectives& ranks, const std::atomic<bool>* stop) : ranks_(ranks), stop_(stop) {}

    bool first_rank() const { return ranks_.rank() == 0; }
    /// The number that rank 0 gives, which may take it minutes; the others' do not count.
    Result<std::int64_t> from_first_rank(std::int64_t number);
    /// Rank 0 alone does something that may take long; the others wait and learn whether it worked: `what` completes
    /// "rank 0 could not …".
    Result<void> on_first_rank(const char* what, const std::function<Result<void>()>& work);
    /// Whether some rank was asked to stop: all have to learn it before a forward pass that needs them all. Throws
    /// CollectiveError.
    bool stop_asked();

private:
    Collectives& ranks_;
    const std::atomic<bool>* stop_;
};

}  // namespace plimsoll::engine
