// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/noise_meter.h"

#include "core/engine/parallel/gradient_norms.h"

namespace plimsoll::engine {

void NoiseMeter::start(std::vector<bool> counts) {
    const std::lock_guard lock(mutex_);
    squares_ = 0;
    counts_ = std::move(counts);
}

void NoiseMeter::stop() {
    const std::lock_guard lock(mutex_);
    squares_ = 0;
    counts_.reset();
}

void NoiseMeter::add(const Bucket& bucket) {
    const std::lock_guard lock(mutex_);
    if (!counts_) return;
    std::vector<torch::Tensor> gradients;
    for (const std::size_t i : bucket.slots) {
        if (counts_->at(buckets_.parameter_of(i))) gradients.push_back(buckets_.slots()[i].gradient);
    }
    for (const double square : squared_norms(gradients)) squares_ += square;
}

void NoiseMeter::add_all() {
    for (const Bucket& bucket : buckets_.all()) add(bucket);
}

}  // namespace plimsoll::engine
