// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/train_loop.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "core/engine/memory/memory_counter.h"
#include "core/engine/memory/memory_recorder.h"

namespace plimsoll::engine {

namespace {

class Stopwatch {
public:
    Seconds seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

TrainLoop::TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, const Mesh& mesh,
                     const PipelineSchedule& schedule, Recorder& recorder, Accelerator* accelerator,
                     torch::Device device)
    : plan_(plan),
      options_(options),
      corpus_(corpus),
      mesh_(mesh),
      collectives_(mesh.world()),
      recorder_(recorder),
      accelerator_(accelerator),
      device_(device),
      batches_(corpus, plan, mesh.position().dp, static_cast<int>(plan.layout.dp), device),
      model_(plan, mesh, schedule, device),
      pipeline_(plan, model_, schedule),
      scaler_(plan.numerics),
      guard_(plan.guard),
      faults_(options.faults, plan, mesh) {
    if (!faults_.any()) return;
    model_.context().probe->look = [this](std::int32_t layer, const torch::Tensor& output) {
        return faults_.spoil(layer, output);
    };
}

Result<TrainOutcome> TrainLoop::run() {
    while (updates_ < plan_.training.steps) {
        PLIMSOLL_TRY(const auto done, watched_step());
        PLIMSOLL_CHECK(record(done));
        PLIMSOLL_CHECK(respond(done));
        if (done.applied && !done.stop) {
            PLIMSOLL_CHECK(periodic());
        }
        if (range_test_over(done)) break;
        if (done.stop && updates_ < plan_.training.steps) {
            PLIMSOLL_CHECK(save());
            PLIMSOLL_CHECK(tell("stop", fmt::format("Stopped after step {}, with a checkpoint.", updates_)));
            return TrainOutcome::Stopped;
        }
    }
    PLIMSOLL_CHECK(tell_noise_scale());
    PLIMSOLL_CHECK(tell_range_test());
    PLIMSOLL_CHECK(save());
    PLIMSOLL_CHECK(tell("end", fmt::format("Finished {} steps; the last loss was {:.3f}.", updates_, last_loss_)));
    return TrainOutcome::Finished;
}

/// The second step on a CPU is written down, allocation by allocation.
Result<TrainLoop::Step> TrainLoop::watched_step() {
    mark_memory();
    if (++steps_taken_ != 2 || accelerator_ != nullptr) return step();
    const CategoryBytes standing = memory_by_category();
    std::optional<MemoryRecorder> recorder(std::in_place);
    recorder->watch_ops();
    const RoutingLog routing;
    auto done = step();
    MemoryTrace trace = std::move(recorder->trace());
    recorder.reset();
    if (!done) return done;
    PLIMSOLL_CHECK(record_memory(std::move(trace), standing, routing.counts()));
    return done;
}

Result<TrainLoop::Step> TrainLoop::step() {
    const Stopwatch watch;
    const Seconds waited = collectives_.waited();
    Step step;
    pass_over_left_out();
    step.number = updates_ + 1;
    step.samples = samples_;
    step.lr = learning_rate(plan_, updates_) * guard_.lr_factor();
    step.scale = scaler_.scale();
    if (faults_.any()) faults_.begin_step(step.number, step.samples);
    const bool measures = measures_noise(step.number);
    if (measures) model_.sizes().measure_noise(true);
    PLIMSOLL_CHECK(forward_backward(step));
    if (measures) {
        PLIMSOLL_CHECK(add_noise_sample(step));
    }
    PLIMSOLL_CHECK(update(step));
    if (accelerator_ != nullptr) accelerator_->synchronize();
    step.seconds = watch.seconds();
    step.wait_seconds = collectives_.waited() - waited;
    return step;
}

Result<void> TrainLoop::forward_backward(Step& step) {
    const Layout& layout = plan_.layout;
    // Ranks with other parts of the sequence or the batch have as many tokens each.
    const double share = 1.0 / static_cast<double>(layout.accumulation * layout.dp * layout.cp);
    const bool speaks = mesh_.tensor().rank() == 0;
    // All have to stop after the same step.
    torch::Tensor status = torch::zeros({step_status_numbers}, torch::dtype(torch::kFloat64).device(device_));
    std::shared_ptr<Work> status_sum;
    const auto send_status = [&](const StepLosses& losses) {
        if (speaks && losses.loss.defined()) status[0] += losses.loss * share;
        if (options_.stop != nullptr && options_.stop->load()) status[1] += 1;
        if (speaks) status[2] += losses.router * share;
        if (speaks) status[3] += losses.z * share;
        status_sum = collectives_.all_reduce_sum(status);
    };

    StepSettings settings;
    settings.loss_scale = step.scale * faults_.loss_factor();
    if (layout.pp == 1) settings.before_last_backward = send_status;  // travels while backward computes
    const auto batch = [&](std::int64_t k) {
        const Stopwatch watch;
        Batch cut = batches_.micro_batch(samples_, k);
        step.data_seconds += watch.seconds();
        return cut;
    };
    const auto losses = pipeline_.step(batch, settings);
    samples_ += static_cast<std::uint64_t>(layout.global_batch());
    if (!losses) return tl::unexpected(losses.error());
    if (!status_sum) send_status(*losses);
    if (auto summed = status_sum->wait(); !summed) return summed;
    const torch::Tensor host = status.to(torch::kCPU);
    step.loss = host[0].item<double>();
    step.stop = host[1].item<double>() > 0;
    step.router_loss = host[2].item<double>();
    step.z_loss = host[3].item<double>();
    return {};
}

/// Gradients and loss are the same on all ranks here, so that all decide alike.
Result<void> TrainLoop::update(Step& step) {
    begin_memory_phase("optimizer");
    PLIMSOLL_TRY(auto norms, model_.sizes().norms(1 / step.scale));
    step.norms = std::move(norms);
    judge(step);
    last_loss_ = step.loss;
    if (!step.applied) {
        ++skipped_in_a_row_;
        return {};
    }
    static_cast<void>(scaler_.update(false));  // only an overflow can fail
    const double divisor = scaler_.divisor(step.scale);
    const double norm = step.norms.global * (step.scale / divisor);
    const bool by_tensor = plan_.optimizer.clip_rule == ClipRule::AdaGc;
    if (auto clipped = model_.sizes().clip_by_tensor(1 / divisor, norm); !clipped) return clipped;
    double clip = by_tensor ? 1 : clip_factor(norm, plan_.optimizer.clip);
    if (step.decision.clip_to > 0) clip = std::min(clip, clip_factor(norm, step.decision.clip_to));
    if (auto stepped = model_.step(step.lr, 1 / divisor, clip); !stepped) return stepped;
    ++updates_;
    skipped_in_a_row_ = 0;
    return {};
}

}  // namespace plimsoll::engine
