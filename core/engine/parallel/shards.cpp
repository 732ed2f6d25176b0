// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/shards.h"

namespace plimsoll::engine {

std::vector<OwnedPart> Shards::owned_parts() const {
    std::vector<OwnedPart> parts;
    // Back in the order of the model.
    for (std::size_t n = buckets_.slots().size(); n-- > 0;) {
        const Slot& slot = buckets_.slots()[n];
        const Bucket& bucket = buckets_.all()[slot.bucket];
        OwnedPart part;
        part.parameter = buckets_.parameter_of(n);
        part.name = slot.parameter.name;
        if (buckets_.options().zero_stage == 0) {
            part.tensor = slot.parameter.tensor.detach();
            part.gradient = slot.gradient;
        } else {
            const auto range = bucket.layout->range(slot.place, ranks_.rank());
            part.tensor =
                slot.own.defined() ? slot.own : bucket.parameter_shard.narrow(0, range.in_shard, range.length);
            part.gradient = bucket.gradient_shard.narrow(0, range.in_shard, range.length);
            part.begin = range.in_parameter;
            part.bucket = slot.bucket;
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

Result<void> Shards::share_parameters() {
    const int stage = buckets_.options().zero_stage;
    if (stage != 1 && stage != 2) return {};
    std::vector<std::shared_ptr<Work>> works;
    for (Bucket& bucket : buckets_.all()) {
        works.push_back(ranks_.all_gather(bucket.parameters.tensor(), bucket.parameter_shard));
    }
    Result<void> result;
    for (const auto& work : works) {
        if (auto waited = work->wait(); !waited && result) result = waited;
    }
    return result;
}

/// This rank's shard of the bucket, put together from the rank's ranges. Parameters that wait in a store are held
/// meanwhile.
Result<torch::Tensor> Shards::shard_of(const Bucket& bucket, const std::vector<torch::Tensor>& ranges) const {
    const auto range_of = [&](std::size_t place) { return ranges[buckets_.parameter_of(bucket.slots[place])]; };
    StateStore* const store = buckets_.options().parameter_store.get();
    const bool away = store != nullptr && range_of(0).is_alias_of(bucket.parameter_shard);
    if (away) {
        PLIMSOLL_CHECK(store->acquire(bucket.number));
    }
    torch::Tensor shard = at::zeros({bucket.layout->shard_numel()}, range_of(0).options());
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        const auto range = bucket.layout->range(place, ranks_.rank());
        if (range.length > 0) shard.narrow(0, range.in_shard, range.length).copy_(range_of(place).view(-1));
    }
    if (away) store->drop(bucket.number);
    return shard;
}

Result<std::vector<torch::Tensor>> Shards::whole(const std::vector<torch::Tensor>& ranges) const {
    if (buckets_.options().zero_stage == 0) return ranges;
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> all(ranges.size());
    for (const Bucket& bucket : buckets_.all()) {
        PLIMSOLL_TRY(const auto shard, shard_of(bucket, ranges));
        torch::Tensor flat = at::empty({bucket.layout->numel()}, shard.options());
        PLIMSOLL_CHECK(ranks_.all_gather(flat, shard)->wait());
        for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
            all[buckets_.parameter_of(bucket.slots[place])] = bucket.layout->view(flat, place).clone();
        }
    }
    return all;
}

}  // namespace plimsoll::engine
