// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/train_loop.h"

#include "core/engine/memory/memory_counter.h"
#include "core/engine/train/announcement.h"
#include "core/engine/train/find_bad_numbers.h"
#include "core/engine/train/step_memory.h"

namespace plimsoll::engine {

TrainLoop::TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, const Mesh& mesh,
                     const PipelineSchedule& schedule, Recorder& recorder, Accelerator* accelerator,
                     torch::Device device)
    : plan_(plan),
      corpus_(corpus),
      mesh_(mesh),
      accelerator_(accelerator),
      batches_(corpus, plan, mesh.position().dp, static_cast<int>(plan.layout.dp), device),
      model_(plan, mesh, schedule, device),
      pipeline_(plan, model_, schedule),
      faults_(options.faults, plan, mesh),
      ranks_(mesh.world(), device, options.stop),
      reporter_(plan, mesh, recorder, accelerator),
      trained_(plan, model_),
      checkpoints_(plan, options.run, trained_, ranks_, reporter_),
      response_(plan, checkpoints_, reporter_,
                [this](const StepRecord& step) {
                    return find_bad_numbers(plan_, model_, pipeline_, batches_, step.samples, step.loss);
                }),
      evaluation_(plan, mesh, batches_, model_, pipeline_, ranks_, reporter_),
      noise_(plan),
      range_test_(plan),
      stepper_({.plan = plan,
                .mesh = mesh,
                .batches = batches_,
                .model = model_,
                .pipeline = pipeline_,
                .faults = faults_,
                .response = response_,
                .noise = noise_,
                .accelerator = accelerator,
                .stop = options.stop}) {
    if (!faults_.any()) return;
    model_.context().probe->look = [this](std::int32_t layer, const torch::Tensor& output) {
        return faults_.spoil(layer, output);
    };
}

Result<void> TrainLoop::restore() {
    if (auto placed = trained_.place(); !placed) return placed;
    const auto choice = checkpoints_.choose();
    if (!choice) return tl::unexpected(choice.error());
    if (choice->step) {
        const auto loaded = checkpoints_.load(*choice->step);
        if (!loaded) return tl::unexpected(loaded.error());
        position_ = response_.restore(*loaded);
    } else if (auto begun = trained_.begin(); !begun) {
        return begun;
    }
    if (auto told = announce(choice->step, choice->damaged); !told) return told;
    // A rollback needs somewhere to go.
    return response_.rolls_back() && !choice->step ? save() : Result<void>();
}

Result<void> TrainLoop::announce(std::optional<std::int64_t> resumed_from, const std::vector<std::string>& damaged) {
    for (const std::string& each : damaged) {
        auto told = reporter_.tell(position_.updates, EventKind::Damaged,
                                   fmt::format("A damaged checkpoint was passed over: {}", each));
        if (!told) return told;
    }
    const torch::Device device = model_.device();
    return engine::announce(
        reporter_, plan_, corpus_,
        {.device = device.str(),
         .device_for_person = accelerator_ != nullptr ? accelerator_->describe(device.index()) : "CPU",
         .buckets = model_.parameters().bucket_count(),
         .world_size = mesh_.world().world_size(),
         .resumed_from = resumed_from,
         .position = position_});
}

Result<TrainOutcome> TrainLoop::run() {
    while (position_.updates < plan_.training.steps) {
        const auto done = watched_step();
        if (!done) return tl::unexpected(done.error());
        last_loss_ = done->loss;
        if (auto recorded = record(*done); !recorded) return tl::unexpected(recorded.error());
        const auto goes_on = response_.respond(*done, position_after(*done, plan_));
        if (!goes_on) return tl::unexpected(goes_on.error());
        position_ = *goes_on;
        if (done->applied && !done->stop) {
            if (auto kept = periodic(); !kept) return tl::unexpected(kept.error());
        }
        if (range_test_.over(*done)) break;
        if (done->stop && position_.updates < plan_.training.steps) return stop();
    }
    return finish();
}

Result<TrainOutcome> TrainLoop::stop() {
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
    auto told = reporter_.tell(position_.updates, EventKind::Stop,
                               fmt::format("Stopped after step {}, with a checkpoint.", position_.updates));
    if (!told) return tl::unexpected(told.error());
    return TrainOutcome::Stopped;
}

Result<TrainOutcome> TrainLoop::finish() {
    const std::int64_t updates = position_.updates;
    if (auto told = noise_.tell(reporter_, updates); !told) return tl::unexpected(told.error());
    if (auto told = range_test_.tell(reporter_, updates); !told) return tl::unexpected(told.error());
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
    auto told = reporter_.tell(updates, EventKind::End,
                               fmt::format("Finished {} steps; the last loss was {:.3f}.", updates, last_loss_));
    if (!told) return tl::unexpected(told.error());
    return TrainOutcome::Finished;
}

/// The second step on a CPU is written down, allocation by allocation: steps before it make what stays.
Result<StepRecord> TrainLoop::watched_step() {
    mark_memory();
    if (++steps_taken_ != 2 || accelerator_ != nullptr) return stepper_.take(position_);
    StepMemoryWatch watch;
    auto done = stepper_.take(position_);
    const StepMemory memory = watch.finish();
    if (!done) return done;
    auto told = reporter_.record_memory(position_after(*done, plan_).updates, memory);
    if (!told) return tl::unexpected(told.error());
    return done;
}

Result<void> TrainLoop::record(const StepRecord& step) {
    if (plan_.layout.pp > 1 && reporter_.looks_closer(step.number)) {
        auto told = reporter_.record_pipeline(step.number, pipeline_.times(), model_.chunks() > 1);
        if (!told) return told;
    }
    return reporter_.record(step, noise_.value_at(step.number));
}

Result<void> TrainLoop::periodic() {
    const std::int64_t updates = position_.updates;
    const bool last = updates == plan_.training.steps;
    const auto due = [&](std::int64_t every) { return every > 0 && (last || updates % every == 0); };
    if (due(plan_.training.validate_every)) {
        if (auto done = evaluation_.validate(updates); !done) return done;
    }
    if (due(plan_.training.sample_every)) {
        if (auto done = evaluation_.sample(updates); !done) return done;
    }
    return due(plan_.training.checkpoint_every) ? save() : Result<void>();
}

}  // namespace plimsoll::engine
