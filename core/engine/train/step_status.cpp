// SPDX-License-Identifier: Apache-2.0
#include "core/engine/train/step_status.h"

namespace plimsoll::engine {

StepStatus::StepStatus(Collectives& ranks, torch::Device device)
    : ranks_(ranks), numbers_(torch::zeros({step_status_numbers}, torch::dtype(torch::kFloat64).device(device))) {}

void StepStatus::send(const StepLosses& losses, double share, bool speaks, bool stop) {
    if (speaks && losses.loss.defined()) numbers_[0] += losses.loss * share;
    if (stop) numbers_[1] += 1;
    numbers_[2] += losses.router * share;
    if (speaks) numbers_[3] += losses.z * share;
    sum_ = ranks_.all_reduce_sum(numbers_);
}

Result<void> StepStatus::read(StepRecord& step) {
    PLIMSOLL_CHECK(sum_->wait());
    const torch::Tensor host = numbers_.to(torch::kCPU);
    step.loss = host[0].item<double>();
    step.stop = host[1].item<double>() > 0;
    step.router_loss = host[2].item<double>();
    step.z_loss = host[3].item<double>();
    return {};
}

}  // namespace plimsoll::engine
