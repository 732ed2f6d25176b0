// SPDX-License-Identifier: Apache-2.0
// Puts faults into a step on purpose (plimsoll-worker --inject).
#pragma once

#include <torch/torch.h>

#include <vector>

#include "core/control/fault.h"
#include "core/engine/ranks/mesh.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

class FaultInjection {
public:
    /// The arguments must outlive the injection.
    FaultInjection(const std::vector<Fault>& faults, const Plan& plan, const Mesh& mesh);

    bool any() const { return !places_.empty(); }
    /// Before the forward of step `number` over the global batch from sequence `samples` on. A slow rank waits here;
    /// oom throws here what an allocation that does not fit throws.
    void begin_step(std::int64_t number, std::uint64_t samples);
    /// A layer's output as the next layer receives it, corrupted where a fault says so.
    torch::Tensor spoil(std::int32_t layer, const torch::Tensor& output) const;
    /// Factor on the loss in the backward pass.
    double loss_factor() const;

private:
    const Plan& plan_;
    const Mesh& mesh_;
    std::vector<FaultPlace> places_;
    std::vector<Fault> now_;  ///< faults of the current step
};

}  // namespace plimsoll::engine
