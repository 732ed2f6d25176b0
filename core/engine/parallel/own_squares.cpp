// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/own_squares.h"

#include "core/engine/parallel/gradient_norms.h"

namespace plimsoll::engine {

void OwnSquares::start(std::vector<bool> counts) {
    const std::lock_guard lock(mutex_);
    sum_ = 0;
    counts_ = std::move(counts);
}

void OwnSquares::stop() {
    const std::lock_guard lock(mutex_);
    sum_ = 0;
    counts_.reset();
}

void OwnSquares::add(const Bucket& bucket) {
    const std::lock_guard lock(mutex_);
    if (!counts_) return;
    std::vector<torch::Tensor> gradients;
    for (const std::size_t i : bucket.slots) {
        if (counts_->at(buckets_.parameter_of(i))) gradients.push_back(buckets_.slots()[i].gradient);
    }
    for (const double square : squared_norms(gradients)) sum_ += square;
}

void OwnSquares::add_all() {
    for (const Bucket& bucket : buckets_.all()) add(bucket);
}

}  // namespace plimsoll::engine
