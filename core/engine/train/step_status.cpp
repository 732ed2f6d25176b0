// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/step_status.h"

namespace plimsoll::engine {

namespace {

/// Of a rank, up to its last backward. Shorter steps are not worth a message more: a stop that just missed one is heard
/// in the next.
constexpr Seconds long_step = 0.2;

}  // namespace

StepStatus::StepStatus(Collectives& ranks, torch::Device device)
    : ranks_(ranks), numbers_(torch::zeros({step_status_numbers}, torch::dtype(torch::kFloat64).device(device))) {}

void StepStatus::send(const StepLosses& losses, double share, bool speaks, bool stop, Seconds spent) {
    if (speaks && losses.loss.defined()) numbers_[0] += losses.loss * share;
    if (stop) numbers_[1] += 1;
    numbers_[2] += losses.router * share;
    if (speaks) numbers_[3] += losses.z * share;
    numbers_[4] += spent;
    sum_ = ranks_.all_reduce_sum(numbers_);
}

Result<void> StepStatus::read(StepRecord& step) {
    PLIMSOLL_CHECK(sum_->wait());
    const torch::Tensor host = numbers_.to(torch::kCPU);
    step.loss = host[0].item<double>();
    step.stop = host[1].item<double>() > 0;
    step.router_loss = host[2].item<double>();
    step.z_loss = host[3].item<double>();
    step.long_step = host[4].item<double>() > long_step * ranks_.world_size();
    return {};
}

}  // namespace plimsoll::engine
