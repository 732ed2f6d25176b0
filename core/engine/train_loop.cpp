// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/control/lr_schedule.h"

namespace plimsoll::engine {

namespace {

class Stopwatch {
public:
    Seconds seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Each weight once, though a tied one may stand under two names.
std::vector<std::pair<std::string, torch::Tensor>> parameters_of(const Decoder& model) {
    std::vector<std::pair<std::string, torch::Tensor>> parameters;
    for (const auto& entry : model.named_parameters()) {
        const bool seen = std::any_of(parameters.begin(), parameters.end(),
                                      [&](const auto& other) { return other.second.is_same(entry.value()); });
        if (!seen) parameters.emplace_back(entry.key(), entry.value());
    }
    return parameters;
}

/// Dropout's random numbers depend only on the rank and its place in the data, so that a resumed run draws the same
/// ones. Mixing function: splitmix64 (Steele, Lea & Flood 2014).
std::uint64_t dropout_seed(std::uint64_t seed, std::uint64_t sample, std::uint64_t rank) {
    std::uint64_t z = seed * 0x9e3779b97f4a7c15U + sample * 0xbf58476d1ce4e5b9U + rank + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Skipped updates in a row after which training goes nowhere. A dynamic loss scale may fall 2^16-fold first, and
/// ends the run by its own rule.
std::int64_t most_skips(const Numerics& numerics) {
    if (numerics.dtype != Dtype::Fp16) return 3;
    return numerics.loss_scale > 0 ? 10 : 100;
}

}  // namespace

TrainLoop::TrainLoop(const Plan& plan, const TrainerOptions& options, const Corpus& corpus, Collectives& collectives,
                     Recorder& recorder, Accelerator* accelerator, torch::Device device)
    : plan_(plan),
      options_(options),
      corpus_(corpus),
      collectives_(collectives),
      recorder_(recorder),
      accelerator_(accelerator),
      device_(device),
      batches_(corpus, plan, collectives.rank(), collectives.world_size(), device),
      model_(make_decoder(plan, static_cast<std::uint64_t>(plan.training.seed))),
      scaler_(plan.numerics) {
    model_->to(device_);
    model_->train();
    parameters_ = parameters_of(*model_);
    data_parallel_ = std::make_unique<DataParallel>(parameters_, collectives_, plan.training.bucket_mib * MiB,
                                                    plan.numerics.fp32_gradients);
}

Result<TrainOutcome> TrainLoop::run() {
    while (updates_ < plan_.training.steps) {
        const auto done = step();
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

Result<TrainLoop::Step> TrainLoop::step() {
    const Stopwatch watch;
    Step step;
    step.lr = learning_rate(plan_.lr, plan_.optimizer.lr, updates_, plan_.training.steps);
    step.scale = scaler_.scale();
    if (auto done = forward_backward(step); !done) return tl::unexpected(done.error());
    update(step);
    if (accelerator_ != nullptr) accelerator_->synchronize();
    step.seconds = watch.seconds();
    return step;
}

Result<void> TrainLoop::forward_backward(Step& step) {
    const std::int64_t accumulation = plan_.layout.accumulation;
    const auto ranks = static_cast<std::uint64_t>(collectives_.world_size());
    const auto micro_batch = static_cast<std::uint64_t>(plan_.layout.micro_batch) * ranks;
    const double share = 1.0 / static_cast<double>(accumulation);
    // [mean loss of the global batch, ranks that were asked to stop]: all have to stop after the same step.
    torch::Tensor status = torch::zeros({2}, torch::dtype(torch::kFloat64).device(device_));
    std::shared_ptr<Work> status_sum;

    data_parallel_->zero_gradients();
    for (std::int64_t k = 0; k < accumulation; ++k) {
        if (plan_.model.dropout > 0) {
            torch::manual_seed(dropout_seed(static_cast<std::uint64_t>(plan_.training.seed),
                                            samples_ + static_cast<std::uint64_t>(k) * micro_batch,
                                            static_cast<std::uint64_t>(collectives_.rank())));
        }
        const Batch batch = batches_.micro_batch(samples_, k);
        const torch::Tensor loss = language_model_loss(model_->forward(batch.tokens), batch.targets);
        status[0] += loss.detach().to(torch::kFloat64) * (share / static_cast<double>(ranks));
        const bool last = k + 1 == accumulation;
        if (last) {
            if (options_.stop != nullptr && options_.stop->load()) status[1] += 1;
            status_sum = collectives_.all_reduce_sum(status);  // travels while backward computes
        }
        data_parallel_->prepare_backward(last);
        (loss * (step.scale * share)).backward();
    }
    samples_ += static_cast<std::uint64_t>(accumulation) * micro_batch;

    auto reduced = data_parallel_->finish();
    if (auto summed = status_sum->wait(); !summed) return summed;
    if (!reduced) return reduced;
    const torch::Tensor host = status.to(torch::kCPU);
    step.loss = host[0].item<double>();
    step.stop = host[1].item<double>() > 0;
    return {};
}

/// Gradients and loss are the same on all ranks here, so that all decide alike.
void TrainLoop::update(Step& step) {
    const double inv_scale = 1 / step.scale;
    step.norms = gradient_norms(parameters_, inv_scale);
    step.applied = std::isfinite(step.norms.global) && std::isfinite(step.loss);
    last_loss_ = step.loss;
    if (!step.applied) {
        ++skipped_in_a_row_;
        return;
    }
    optimizer_->step(step.lr, inv_scale, clip_factor(step.norms.global, plan_.optimizer.clip));
    static_cast<void>(scaler_.update(false));  // only an overflow can fail
    ++updates_;
    skipped_in_a_row_ = 0;
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
