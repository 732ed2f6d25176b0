// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/flat_bucket.h"

#include <algorithm>

namespace plimsoll::engine {

namespace {

/// Views start at multiples of a cache line, which vector kernels like.
constexpr std::int64_t alignment = 64;

std::int64_t rounded_up(std::int64_t value, std::int64_t step) { return (value + step - 1) / step * step; }

}  // namespace

BucketLayout::BucketLayout(const std::vector<torch::Tensor>& parameters, c10::ScalarType dtype, int shards,
                           std::int64_t granularity)
    : shards_(shards) {
    const std::int64_t step = alignment / static_cast<std::int64_t>(c10::elementSize(dtype));
    std::int64_t at = 0;
    for (const torch::Tensor& parameter : parameters) {
        places_.push_back({at, parameter.sizes().vec(), parameter.numel()});
        at += rounded_up(parameter.numel(), step);
    }
    shard_numel_ = rounded_up((at + shards - 1) / shards, step);
    if (granularity > 1) shard_numel_ = rounded_up((at + shards - 1) / shards, granularity);
    if (shards == 1) shard_numel_ = at;
}

torch::Tensor BucketLayout::view(const torch::Tensor& flat, std::size_t i) const {
    const BucketPlace& place = places_[i];
    return flat.narrow(0, place.begin, place.numel).view(place.sizes);
}

BucketLayout::Range BucketLayout::range(std::size_t i, int rank) const {
    const BucketPlace& place = places_[i];
    const std::int64_t shard = rank * shard_numel_;
    const std::int64_t begin = std::max(place.begin, shard);
    const std::int64_t end = std::min(place.begin + place.numel, shard + shard_numel_);
    if (end <= begin) return {};
    return {begin - place.begin, begin - shard, end - begin};
}

Releasable::Releasable(std::int64_t numel, const torch::TensorOptions& options)
    : tensor_(at::empty({numel}, options.requires_grad(false))) {}

void Releasable::take() {
    if (present_) return;
    auto* const storage = tensor_.storage().unsafeGetStorageImpl();
    const std::size_t bytes = static_cast<std::size_t>(tensor_.numel()) * tensor_.element_size();
    storage->set_data_ptr_noswap(storage->allocator()->allocate(bytes));
    storage->set_nbytes(bytes);
    present_ = true;
}

void Releasable::release() {
    if (!present_) return;
    auto* const storage = tensor_.storage().unsafeGetStorageImpl();
    storage->set_data_ptr_noswap(at::DataPtr(nullptr, tensor_.device()));
    storage->set_nbytes(std::size_t{0});
    present_ = false;
}

}  // namespace plimsoll::engine
