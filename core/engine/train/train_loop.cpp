// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/train_loop.h"

#include "core/engine/memory/memory_counter.h"
#include "core/engine/train/announcement.h"
#include "core/engine/train/find_bad_numbers.h"
#include "core/engine/train/step_memory.h"

namespace plimsoll::engine {

TrainLoop::TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, const TextCodec& codec,
                     const Mesh& mesh, const PipelineSchedule& schedule, Recorder& recorder, Accelerator* accelerator,
                     torch::Device device, const RunInputs& inputs)
    : plan_(plan),
      corpus_(corpus),
      mesh_(mesh),
      accelerator_(accelerator),
      batches_(corpus, plan, mesh.position().dp, static_cast<int>(plan.layout.dp), device),
      model_(plan, mesh, schedule, device),
      pipeline_(plan, model_, schedule),
      faults_(options.faults, plan, mesh),
      ranks_(mesh.world(), options.stop),
      reporter_(plan, mesh, recorder, accelerator),
      trained_(plan, model_),
      checkpoints_(plan, options.run, trained_, ranks_, reporter_),
      response_(plan, checkpoints_, reporter_,
                [this](const StepRecord& step) {
                    return find_bad_numbers(plan_, model_, pipeline_, batches_, step.samples, step.loss);
                }),
      evaluation_(plan, mesh, batches_, codec, model_, pipeline_, ranks_, reporter_),
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
    checkpoints_.of_inputs(inputs);
    if (!faults_.any()) return;
    model_.context().probe->look = [this](std::int32_t layer, const torch::Tensor& output) {
        return faults_.spoil(layer, output);
    };
}

Result<void> TrainLoop::restore() {
    PLIMSOLL_CHECK(trained_.place());
    PLIMSOLL_TRY(const auto choice, checkpoints_.choose());
    if (choice.all_damaged) return tl::unexpected(checkpoints_.no_whole_one(choice));
    std::int64_t planned_steps = 0;
    if (choice.step) {
        PLIMSOLL_TRY(const auto loaded, checkpoints_.load(*choice.step));
        position_ = response_.restore(loaded);
        planned_steps = loaded.planned_steps;
    } else {
        PLIMSOLL_CHECK(trained_.begin());
    }
    PLIMSOLL_CHECK(announce(choice, planned_steps));
    // A rollback needs somewhere to go.
    return response_.rolls_back() && !choice.step ? save() : Result<void>();
}

Result<void> TrainLoop::announce(const Checkpoints::Choice& choice, std::int64_t planned_steps) {
    for (const std::string& each : choice.damaged) {
        PLIMSOLL_CHECK(reporter_.tell(position_.updates, EventKind::Damaged,
                                      fmt::format("A damaged checkpoint was passed over: {}", each)));
    }
    const torch::Device device = model_.device();
    return engine::announce(
        reporter_, plan_, corpus_,
        {.device = device.str(),
         .device_for_person = accelerator_ != nullptr ? accelerator_->describe(device.index()) : "CPU",
         .buckets = model_.parameters().bucket_count(),
         .world_size = mesh_.world().world_size(),
         .resumed_from = choice.step,
         .planned_steps = planned_steps,
         .position = position_});
}

Result<TrainOutcome> TrainLoop::run() {
    while (position_.updates < plan_.training.steps) {
        PLIMSOLL_TRY(const auto done, watched_step());
        PLIMSOLL_CHECK(record(done));
        PLIMSOLL_TRY(position_, response_.respond(done, position_after(done, plan_)));
        bool stops = done.stop || (done.long_step && ranks_.stop_asked());
        if (done.applied && !stops) {
            PLIMSOLL_TRY(const bool took_long, periodic());
            stops = took_long && ranks_.stop_asked();
        }
        if (range_test_.over(done)) break;
        if (stops && position_.updates < plan_.training.steps) return stop();
    }
    return finish();
}

Result<TrainOutcome> TrainLoop::stop() {
    PLIMSOLL_CHECK(save());
    PLIMSOLL_CHECK(reporter_.tell(position_.updates, EventKind::Stop,
                                  fmt::format("Stopped after step {}, with a checkpoint.", position_.updates)));
    return TrainOutcome::Stopped;
}

Result<TrainOutcome> TrainLoop::finish() {
    const std::int64_t updates = position_.updates;
    PLIMSOLL_CHECK(noise_.tell(reporter_, updates));
    PLIMSOLL_CHECK(range_test_.tell(reporter_, updates));
    PLIMSOLL_CHECK(save());
    const auto loss = response_.last_loss();
    PLIMSOLL_CHECK(reporter_.tell(
        updates, EventKind::End,
        fmt::format("Finished {} steps{}.", updates, loss ? fmt::format("; the last loss was {:.3f}", *loss) : "")));
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
    PLIMSOLL_CHECK(reporter_.record_memory(position_after(*done, plan_).updates, memory));
    return done;
}

Result<void> TrainLoop::record(const StepRecord& step) {
    if (plan_.layout.pp > 1 && reporter_.looks_closer(step.number)) {
        PLIMSOLL_CHECK(reporter_.record_pipeline(step.number, pipeline_.times(), model_.chunks() > 1));
    }
    return reporter_.record(step, noise_.value_at(step.number));
}

Result<bool> TrainLoop::periodic() {
    const std::int64_t updates = position_.updates;
    const bool last = updates == plan_.training.steps;
    const auto due = [&](std::int64_t every) { return every > 0 && (last || updates % every == 0); };
    const bool validates = due(plan_.training.validate_every), samples = due(plan_.training.sample_every),
               saves = due(plan_.training.checkpoint_every);
    if (validates) {
        PLIMSOLL_CHECK(evaluation_.validate(updates));
    }
    if (samples) {
        PLIMSOLL_CHECK(evaluation_.sample(updates));
    }
    if (saves) {
        PLIMSOLL_CHECK(save());
    }
    return validates || samples || saves;
}

}  // namespace plimsoll::engine
