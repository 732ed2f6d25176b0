// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train_loop.h"

#include <chrono>
#include <cmath>
#include <optional>

#include "core/control/lr_schedule.h"
#include "core/engine/memory_counter.h"
#include "core/engine/memory_recorder.h"

namespace plimsoll::engine {

namespace {

class Stopwatch {
public:
    Seconds seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Skipped updates in a row after which training goes nowhere. A dynamic loss scale may fall 2^16-fold first, and
/// ends the run by its own rule.
std::int64_t most_skips(const Numerics& numerics) {
    if (numerics.dtype != Dtype::Fp16) return 3;
    return numerics.loss_scale > 0 ? 10 : 100;
}

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
      scaler_(plan.numerics) {}

Result<TrainOutcome> TrainLoop::run() {
    while (updates_ < plan_.training.steps) {
        const auto done = watched_step();
        if (!done) return tl::unexpected(done.error());
        if (auto recorded = record(*done); !recorded) return tl::unexpected(recorded.error());
        if (!done->applied) {
            if (auto bearable = judge_skipped(*done); !bearable) return tl::unexpected(bearable.error());
        } else if (!done->stop) {
            if (auto kept = periodic(); !kept) return tl::unexpected(kept.error());
        }
        if (done->stop && updates_ < plan_.training.steps) {
            if (auto saved = save(); !saved) return tl::unexpected(saved.error());
            auto told = tell("stop", fmt::format("Stopped after step {}, with a checkpoint.", updates_));
            if (!told) return tl::unexpected(told.error());
            return TrainOutcome::Stopped;
        }
    }
    if (auto saved = save(); !saved) return tl::unexpected(saved.error());
    auto told = tell("end", fmt::format("Finished {} steps; the last loss was {:.3f}.", updates_, last_loss_));
    if (!told) return tl::unexpected(told.error());
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
    if (auto told = record_memory(std::move(trace), standing, routing.counts()); !told)
        return tl::unexpected(told.error());
    return done;
}

Result<TrainLoop::Step> TrainLoop::step() {
    const Stopwatch watch;
    Step step;
    step.lr = learning_rate(plan_.lr, plan_.optimizer.lr, updates_, plan_.training.steps);
    step.scale = scaler_.scale();
    if (auto done = forward_backward(step); !done) return tl::unexpected(done.error());
    if (auto done = update(step); !done) return tl::unexpected(done.error());
    if (accelerator_ != nullptr) accelerator_->synchronize();
    step.seconds = watch.seconds();
    return step;
}

Result<void> TrainLoop::forward_backward(Step& step) {
    const Layout& layout = plan_.layout;
    // Ranks with other parts of the sequence or the batch have as many tokens each.
    const double share = 1.0 / static_cast<double>(layout.accumulation * layout.dp * layout.cp);
    const bool speaks = mesh_.tensor().rank() == 0;
    // [mean loss of the global batch, ranks that were asked to stop, router loss]: all have to stop after the same
    // step.
    torch::Tensor status = torch::zeros({3}, torch::dtype(torch::kFloat64).device(device_));
    std::shared_ptr<Work> status_sum;
    const auto send_status = [&] {
        if (speaks && pipeline_.loss_sum().defined()) status[0] += pipeline_.loss_sum() * share;
        if (options_.stop != nullptr && options_.stop->load()) status[1] += 1;
        if (speaks) status[2] += *model_.context().side_loss * share;
        status_sum = collectives_.all_reduce_sum(status);
    };
    *model_.context().side_loss = 0;

    StepSettings settings;
    settings.loss_scale = step.scale;
    if (layout.pp == 1) settings.before_last_backward = send_status;  // travels while backward computes
    const auto reduced = pipeline_.step([&](std::int64_t k) { return batches_.micro_batch(samples_, k); }, settings);
    samples_ += static_cast<std::uint64_t>(layout.global_batch());
    if (!reduced) return reduced;
    if (!status_sum) send_status();
    if (auto summed = status_sum->wait(); !summed) return summed;
    const torch::Tensor host = status.to(torch::kCPU);
    step.loss = host[0].item<double>();
    step.stop = host[1].item<double>() > 0;
    step.router_loss = host[2].item<double>();
    return {};
}

/// Gradients and loss are the same on all ranks here, so that all decide alike.
Result<void> TrainLoop::update(Step& step) {
    begin_memory_phase("optimizer");
    const double inv_scale = 1 / step.scale;
    auto norms = model_.norms(inv_scale);
    if (!norms) return tl::unexpected(norms.error());
    step.norms = std::move(*norms);
    step.applied = std::isfinite(step.norms.global) && std::isfinite(step.loss);
    last_loss_ = step.loss;
    if (!step.applied) {
        ++skipped_in_a_row_;
        return {};
    }
    const double clip = clip_factor(step.norms.global, plan_.optimizer.clip);
    if (auto stepped = model_.step(step.lr, inv_scale, clip); !stepped) return stepped;
    static_cast<void>(scaler_.update(false));  // only an overflow can fail
    ++updates_;
    skipped_in_a_row_ = 0;
    return {};
}

Result<void> TrainLoop::judge_skipped(const Step& step) {
    const std::int64_t number = updates_ + 1;
    if (plan_.numerics.dtype == Dtype::Fp16) {
        const auto bearable = scaler_.update(true);
        auto told = tell("overflow",
                         fmt::format("Step {}: the fp16 gradients overflowed at loss scale {:g}; the update was "
                                     "skipped on all ranks, and the scale is now {:g}.",
                                     number, step.scale, scaler_.scale()),
                         {{"scale", step.scale}, {"next_scale", scaler_.scale()}});
        if (!told) return told;
        if (!bearable) return bearable;
        if (skipped_in_a_row_ < most_skips(plan_.numerics)) return {};
        return failed(
            "the fp16 gradients overflowed {} steps in a row at step {}, and nothing was learned in them: "
            "lower numerics.loss_scale (0 adapts it) or optimizer.lr, or use bf16 (numerics.dtype)",
            skipped_in_a_row_, number);
    }
    auto told = tell("nonfinite", fmt::format("Step {}: the loss is {:g} and the gradient norm {:g}; the update was "
                                              "skipped on all ranks.",
                                              number, step.loss, step.norms.global));
    if (!told) return told;
    if (skipped_in_a_row_ < most_skips(plan_.numerics)) return {};
    return failed(
        "the loss or the gradients were not finite {} times in a row at step {}: lower optimizer.lr (now "
        "{:g}) or lengthen lr.warmup_steps, then start again or resume from the last checkpoint",
        skipped_in_a_row_, number, plan_.optimizer.lr);
}

}  // namespace plimsoll::engine
