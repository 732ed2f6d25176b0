// SPDX-License-Identifier: Apache-2.0
// One step: forward and backward over the micro-batches of this rank, then the update.
#pragma once

#include <atomic>
#include <chrono>

#include "core/engine/data/batch.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/ranks/mesh.h"
#include "core/engine/train/anomaly_response.h"
#include "core/engine/train/fault_injection.h"
#include "core/engine/train/noise_meter.h"
#include "core/engine/train/step_record.h"
#include "core/engine/train/step_status.h"
#include "core/plan/plan.h"

namespace plimsoll::engine {

/// What a step is taken with. All of it has to outlive the stepper.
struct StepParts {
    const Plan& plan;
    const Mesh& mesh;
    const BatchSource& batches;
    DistributedModel& model;
    Pipeline& pipeline;
    FaultInjection& faults;
    AnomalyResponse& response;
    NoiseMeter& noise;
    Accelerator* accelerator = nullptr;       ///< null on CPUs
    const std::atomic<bool>* stop = nullptr;  ///< null: nobody asks for a stop
};

/// Every rank takes the same steps.
class Stepper {
public:
    explicit Stepper(const StepParts& parts) : parts_(parts) {}

    /// From `position` on, without the batches that are left out.
    Result<StepRecord> take(RunPosition position);

private:
    Result<StepLosses> forward_backward(StepRecord& step);
    Result<void> measure_noise(const StepRecord& step);
    Result<void> update(StepRecord& step);

    StepParts parts_;
    std::chrono::steady_clock::time_point began_;  ///< the step
};

/// Where a run is after a step, unless it goes back.
RunPosition position_after(const StepRecord& step, const Plan& plan);

}  // namespace plimsoll::engine
