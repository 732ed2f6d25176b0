// SPDX-License-Identifier: Apache-2.0
// The part of a model that this rank trains, for the run's checkpoints.
#pragma once

#include <string>

#include "core/engine/parallel/distributed_model.h"
#include "core/engine/train/trained_model.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

class TrainedDistributedModel final : public TrainedModel {
public:
    /// Both have to outlive it.
    TrainedDistributedModel(const Plan& plan, DistributedModel& model) : plan_(plan), model_(model) {}

    /// The weights that every run begins with: the same ones everywhere, and those beside adapters from their files.
    Result<void> place();
    /// Of a run without a checkpoint: weights from the plan's files, if it names some, and a new optimizer.
    Result<void> begin();

    Result<TrainedState> state() override;
    Result<void> load(const TrainedState& state, const std::string& weights_file) override;

private:
    const Plan& plan_;
    DistributedModel& model_;
};

}  // namespace plimsoll::engine
