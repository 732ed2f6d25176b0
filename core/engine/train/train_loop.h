// SPDX-License-Identifier: Apache-2.0
// The steps of a training run, from wherever the checkpoint left off to the end.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/allocator/memory_timeline.h"
#include "core/base/json.h"
#include "core/control/batch_rules.h"
#include "core/control/gradient_guard.h"
#include "core/control/loss_scaler.h"
#include "core/control/lr_schedule.h"
#include "core/engine/data/batch.h"
#include "core/engine/layers/routing_log.h"
#include "core/engine/parallel/distributed_model.h"
#include "core/engine/parallel/pipeline_step.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/train/fault_injection.h"
#include "core/engine/train/recorder.h"
#include "core/engine/train/trainer.h"
#include "core/engine/weights/checkpoint.h"

namespace plimsoll::engine {

class TrainLoop {
public:
    /// The arguments must outlive the loop. `accelerator` is null on CPUs.
    TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, const Mesh& mesh,
              const PipelineSchedule& schedule, Recorder& recorder, Accelerator* accelerator, torch::Device device);

    /// Same weights everywhere, then the newest checkpoint that rank 0 finds, if there is one.
    Result<void> restore();
    Result<TrainOutcome> run();

private:
    struct Step {
        std::int64_t number = 0;    ///< from 1
        std::uint64_t samples = 0;  ///< where its batch begins
        double loss = 0;            ///< mean over the global batch
        double router_loss = 0;     ///< router losses, which are added to `loss`
        double z_loss = 0;          ///< and the z-loss
        bool stop = false;          ///< some rank was asked to stop
        GradientNorms norms;        ///< before clipping
        double lr = 0;
        double scale = 1;
        bool applied = false;
        bool overflow = false;  ///< of fp16 gradients: the loss scaler's
        GuardDecision decision;
        Seconds seconds = 0;
        Seconds data_seconds = 0;  ///< part of `seconds` spent cutting batches from the corpus
        Seconds wait_seconds = 0;  ///< part of `seconds` spent in calls that other ranks take part in
    };

    // One step (train_loop.cpp).
    Result<Step> step();
    Result<Step> watched_step();
    Result<void> forward_backward(Step& step);
    Result<void> update(Step& step);

    // A step that stands out (train_guard.cpp).
    void judge(Step& step);
    Result<void> respond(const Step& step);
    Result<void> judge_overflow(const Step& step);
    Result<void> tell_finding(const Step& step);
    Result<std::string> first_bad(const Step& step, Json& details);
    Result<void> roll_back(const Step& step);
    Result<void> leave_checkpoint(std::int64_t step);
    void pass_over_left_out();

    // What is measured in passing (train_measures.cpp).
    bool measures_noise(std::int64_t step) const;
    Result<void> add_noise_sample(const Step& step);
    Result<void> tell_noise_scale();
    /// Whether the rate of a range test has gone too far.
    bool range_test_over(const Step& step);
    Result<void> tell_range_test();

    // What happens beside the steps (train_duties.cpp).
    /// Step of the newest whole checkpoint that rank 0 finds, on all ranks; -1: there is none.
    Result<std::int64_t> choose_checkpoint(std::vector<std::string>& damaged,
                                           std::int64_t before = std::numeric_limits<std::int64_t>::max());
    Result<void> load(std::int64_t step);
    /// Loads the frozen weights beside adapters; to be called before every other load.
    Result<void> load_frozen_weights();
    Result<void> load_start_weights();
    Result<void> announce(std::int64_t resumed_from, const std::vector<std::string>& damaged);
    Result<void> record(const Step& step);
    Result<void> record_pipeline(std::int64_t number);
    Result<void> periodic();
    Result<void> validate();
    Result<void> sample();
    Result<void> save();
    /// An event of the whole run: rank 0 tells it.
    Result<void> tell(const char* kind, const std::string& sentence, Json details = Json::object());
    Result<void> tell_at(std::int64_t step, const char* kind, const std::string& sentence,
                         Json details = Json::object());
    /// Rank 0 alone does something that may take long; the others wait and learn whether it worked.
    Result<void> on_first_rank(const char* what, const std::function<Result<void>()>& work);
    /// Whether some rank was asked to stop. All ranks have to learn of it before a forward pass in which all take part.
    bool stop_asked();
    /// Whether this rank speaks for its data-parallel position: one rank of each does.
    bool speaks_for_data() const {
        return mesh_.position().pp == 0 && mesh_.position().cp == 0 && mesh_.position().tp == 0;
    }
    bool first_rank() const { return collectives_.rank() == 0; }
    Bytes memory(bool peak) const;
    /// Records what the second step of this process keeps in memory, category by category. The first step still makes
    /// buffers and states that stay.
    Result<void> record_memory(MemoryTrace trace, const CategoryBytes& standing, const std::vector<RowCounts>& routing);

    const Plan& plan_;
    const TrainerOptions& options_;
    const Corpus& corpus_;
    const Mesh& mesh_;
    Collectives& collectives_;  ///< of all ranks
    Recorder& recorder_;
    Accelerator* accelerator_;
    torch::Device device_;
    BatchSource batches_;
    DistributedModel model_;
    Pipeline pipeline_;
    LossScaler scaler_;
    GradientGuard guard_;
    FaultInjection faults_;
    std::set<std::uint64_t> left_out_;  ///< first sequences of batches that led to a rollback
    std::int64_t steps_taken_ = 0;      ///< by this process
    std::int64_t updates_ = 0;          ///< made
    std::uint64_t samples_ = 0;         ///< sequences consumed, over all ranks
    std::int64_t skipped_in_a_row_ = 0;
    std::int64_t saved_at_ = -1;        ///< updates of the newest checkpoint
    std::int64_t rolled_back_to_ = -1;  ///< checkpoint of the last rollback
    NoiseScale noise_scale_;            ///< in tokens
    struct RangeTest {
        std::vector<double> rates, losses;
        double lowest = std::numeric_limits<double>::infinity();
    } range_test_;
    double last_loss_ = 0;
};

}  // namespace plimsoll::engine
