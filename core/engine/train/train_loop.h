// SPDX-License-Identifier: Apache-2.0
// The steps of a training run, from wherever the checkpoint left off to the end.
#pragma once

#include "core/engine/data/batch.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/train/anomaly_response.h"
#include "core/engine/train/checkpoints.h"
#include "core/engine/train/evaluation.h"
#include "core/engine/train/fault_injection.h"
#include "core/engine/train/noise_meter.h"
#include "core/engine/train/range_test.h"
#include "core/engine/train/rank_agreement.h"
#include "core/engine/train/recorder.h"
#include "core/engine/train/reporter.h"
#include "core/engine/train/step_record.h"
#include "core/engine/train/stepper.h"
#include "core/engine/train/trained_distributed_model.h"
#include "core/engine/train/trainer.h"

namespace plimsoll::engine {

/// After each step, in this order: it is recorded and answered, and then comes what is due.
class TrainLoop {
public:
    /// What it works with has to outlive it. `accelerator` is null on CPUs.
    TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, const TextCodec& codec,
              const Mesh& mesh, const PipelineSchedule& schedule, Recorder& recorder, Accelerator* accelerator,
              torch::Device device, const RunInputs& inputs);

    /// Same weights everywhere, then the newest checkpoint that rank 0 finds, if there is one.
    Result<void> restore();
    Result<TrainOutcome> run();

private:
    /// A step, and its memory where it is the one that is watched.
    Result<StepRecord> watched_step();
    Result<void> record(const StepRecord& step);
    /// Validation, sample and checkpoint, as often as the plan wants them. True where one was due.
    Result<bool> periodic();
    /// `planned_steps`: of the run when the checkpoint was made; 0: not known.
    Result<void> announce(const Checkpoints::Choice& choice, std::int64_t planned_steps);
    Result<void> save() { return checkpoints_.save(response_.state(position_)); }
    Result<TrainOutcome> stop();
    Result<TrainOutcome> finish();

    const Plan& plan_;
    const Corpus& corpus_;
    const Mesh& mesh_;
    Accelerator* accelerator_;
    BatchSource batches_;
    DistributedModel model_;
    Pipeline pipeline_;
    FaultInjection faults_;
    RankAgreement ranks_;
    Reporter reporter_;
    TrainedDistributedModel trained_;
    Checkpoints checkpoints_;
    AnomalyResponse response_;
    Evaluation evaluation_;
    NoiseMeter noise_;
    RangeTest range_test_;
    Stepper stepper_;
    RunPosition position_;
    std::int64_t steps_taken_ = 0;  ///< by this process
};

}  // namespace plimsoll::engine
