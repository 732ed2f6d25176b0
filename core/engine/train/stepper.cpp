// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/stepper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/engine/memory/memory_recorder.h"

namespace plimsoll::engine {

namespace {

Seconds since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

RunPosition position_after(const StepRecord& step, const Plan& plan) {
    return {step.applied ? step.number : step.number - 1,
            step.samples + static_cast<std::uint64_t>(plan.layout.global_batch())};
}

Result<StepRecord> Stepper::take(RunPosition position) {
    began_ = std::chrono::steady_clock::now();
    const Seconds waited = parts_.mesh.world().waited();
    StepRecord step;
    step.number = position.updates + 1;
    step.samples = parts_.response.next_batch(position.samples);
    step.lr = parts_.response.rate(position.updates);
    step.scale = parts_.response.scale();
    if (parts_.faults.any()) parts_.faults.begin_step(step.number, step.samples);
    const bool measures = parts_.noise.measures(step.number);
    if (measures) parts_.model.sizes().measure_noise(true);
    // Held until the update is done, as a dry run does: the memory of both is compared to the byte.
    PLIMSOLL_TRY(const StepLosses losses, forward_backward(step));
    if (measures) {
        PLIMSOLL_CHECK(measure_noise(step));
    }
    PLIMSOLL_CHECK(update(step));
    if (parts_.accelerator != nullptr) parts_.accelerator->synchronize();
    step.seconds = since(began_);
    step.wait_seconds = parts_.mesh.world().waited() - waited;
    return step;
}

Result<StepLosses> Stepper::forward_backward(StepRecord& step) {
    const Layout& layout = parts_.plan.layout;
    // Ranks with other parts of the sequence or the batch have as many tokens each; those of a tensor-parallel group
    // have the same.
    const double share = 1.0 / static_cast<double>(layout.accumulation * layout.dp * layout.cp);
    StepStatus status(parts_.mesh.world(), parts_.model.device());
    const auto send_status = [&](const StepLosses& losses) {
        // All have to stop after the same step.
        const bool stop = parts_.stop != nullptr && parts_.stop->load();
        status.send(losses, share, parts_.mesh.tensor().rank() == 0, stop, since(began_));
    };

    StepSettings settings;
    settings.loss_scale = step.scale * parts_.faults.loss_factor();
    if (layout.pp == 1) settings.before_last_backward = send_status;  // travels while backward computes
    const auto batch = [&](std::int64_t k) {
        const auto begin = std::chrono::steady_clock::now();
        Batch cut = parts_.batches.micro_batch(step.samples, k);
        step.data_seconds += since(begin);
        return cut;
    };
    PLIMSOLL_TRY(StepLosses losses, parts_.pipeline.step(batch, settings));
    if (!status.sent()) send_status(losses);
    PLIMSOLL_CHECK(status.read(step));
    return losses;
}

Result<void> Stepper::measure_noise(const StepRecord& step) {
    const auto samples = parts_.model.sizes().noise_samples(1 / step.scale);
    parts_.model.sizes().measure_noise(false);
    if (!samples) return tl::unexpected(samples.error());
    parts_.noise.add(*samples);
    return {};
}

/// Gradients and loss are the same on all ranks here, so that all decide alike.
Result<void> Stepper::update(StepRecord& step) {
    const Optimizer& optimizer = parts_.plan.optimizer;
    begin_memory_phase("optimizer");
    PLIMSOLL_TRY(step.norms, parts_.model.sizes().norms(1 / step.scale));
    parts_.response.judge(step);
    if (!step.applied) return {};
    const double divisor = parts_.response.divisor(step);
    const double norm = step.norms.global * (step.scale / divisor);
    PLIMSOLL_CHECK(parts_.model.sizes().clip_by_tensor(1 / divisor, norm));
    double clip = optimizer.clip_rule == ClipRule::AdaGc ? 1 : clip_factor(norm, optimizer.clip);
    if (step.decision.clip_to > 0) clip = std::min(clip, clip_factor(norm, step.decision.clip_to));
    return parts_.model.step(step.lr, 1 / divisor, clip);
}

}  // namespace plimsoll::engine
