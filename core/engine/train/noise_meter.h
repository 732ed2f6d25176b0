// SPDX-License-Identifier: Apache-2.0
// The gradient noise scale of a run, measured in passing (training.noise_scale_every).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "core/control/batch_rules.h"
#include "core/engine/train/reporter.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

class NoiseMeter {
public:
    /// The plan has to outlive it.
    explicit NoiseMeter(const Plan& plan) : plan_(plan) {}

    bool measures(std::int64_t step) const;
    /// The squared norms of a part of a step's batch and of all of it, on every rank alike. A step whose gradients are
    /// not finite says nothing.
    void add(const std::pair<NormSample, NormSample>& small_and_big);
    /// In tokens, where this step measured it and it can be told yet.
    std::optional<double> value_at(std::int64_t step) const;
    /// What the run found; nothing where nothing was measured.
    Result<void> tell(Reporter& reporter, std::int64_t updates) const;

private:
    const Plan& plan_;
    NoiseScale scale_;  ///< in tokens
};

}  // namespace plimsoll::engine
