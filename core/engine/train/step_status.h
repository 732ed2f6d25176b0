// SPDX-License-Identifier: Apache-2.0
// What the ranks tell one another in each step, in one message that travels while the backward computes: the losses of
// the global batch, whether some rank was asked to stop, and how long the step takes.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/collectives.h"
#include "core/engine/train/step_record.h"

namespace plimsoll::engine {

/// Of one step.
class StepStatus {
public:
    StepStatus(Collectives& ranks, torch::Device device);

    /// Once, when the last loss is known. `share`: of a micro-batch in the global batch. `speaks`: of ranks that all have
    /// the loss one tells it; the router losses are sums over such ranks. `spent` on the step so far.
    void send(const StepLosses& losses, double share, bool speaks, bool stop, Seconds spent);
    bool sent() const { return sum_ != nullptr; }
    /// Waits for the others; the same on all ranks.
    Result<void> read(StepRecord& step);

private:
    Collectives& ranks_;
    torch::Tensor numbers_;
    std::shared_ptr<Work> sum_;
};

}  // namespace plimsoll::engine
