// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/buckets.h"

#include <algorithm>
#include <map>

#include "core/engine/memory/memory_scope.h"
#include "core/engine/ranks/collectives.h"

namespace plimsoll::engine {

Buckets::Buckets(std::vector<ParallelParameter> parameters, int rank, int ranks, const DataParallelOptions& options)
    : rank_(rank), ranks_(ranks), options_(options) {
    std::reverse(parameters.begin(), parameters.end());
    for (ParallelParameter& parameter : parameters) {
        if (!parameter.tensor.requires_grad()) continue;
        const bool seen = std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
            return slot.parameter.tensor.is_same(parameter.tensor);
        });
        if (seen) continue;  // a tied weight under its second name
        Slot slot;
        slot.parameter = std::move(parameter);
        slots_.push_back(std::move(slot));
    }
    make_buckets();
    for (Bucket& bucket : buckets_) make_storage(bucket);
}

void Buckets::make_buckets() {
    // One open bucket a dtype, device and, under ZeRO-3, unit: a flat tensor has one of each.
    std::map<std::string, std::size_t> open;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const ParallelParameter& parameter = slots_[i].parameter;
        const c10::ScalarType dtype = options_.fp32_gradients ? c10::kFloat : parameter.tensor.scalar_type();
        const bool alone = parameter.alone || (options_.whole_rows && parameter.tensor.dim() >= 2);
        const std::string key = fmt::format("{} {} {} {} {}", c10::toString(parameter.tensor.scalar_type()),
                                            parameter.tensor.device().str(), parameter.chunk,
                                            options_.zero_stage >= 3 ? parameter.unit : 0, alone ? parameter.name : "");
        auto found = open.find(key);
        const auto size = static_cast<Bytes>(c10::elementSize(dtype));
        const bool full = found != open.end() && options_.zero_stage < 3 &&
                          (counts[found->second] + parameter.tensor.numel()) * size > options_.bucket_bytes;
        if (found == open.end() || full) {
            open[key] = buckets_.size();
            found = open.find(key);
            Bucket bucket;
            bucket.number = buckets_.size();
            bucket.dtype = dtype;
            bucket.unit = parameter.unit;
            bucket.chunk = parameter.chunk;
            bucket.alone = alone;
            buckets_.push_back(std::move(bucket));
            counts.push_back(0);
        }
        Bucket& bucket = buckets_[found->second];
        slots_[i].bucket = found->second;
        slots_[i].place = bucket.slots.size();
        bucket.slots.push_back(i);
        counts[found->second] += parameter.tensor.numel();
    }
}

void Buckets::make_storage(Bucket& bucket) {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> parameters;
    for (const std::size_t i : bucket.slots) parameters.push_back(slots_[i].parameter.tensor);
    const int shards = options_.zero_stage >= 1 ? ranks_ : 1;
    const bool rows = options_.whole_rows && parameters.front().dim() >= 2;
    const std::int64_t granularity = rows ? parameters.front().numel() / parameters.front().size(0) : 1;
    bucket.layout = std::make_unique<BucketLayout>(parameters, bucket.dtype, shards, granularity);
    const torch::TensorOptions like = parameters.front().options().requires_grad(false);
    make_gradients(bucket, like);
    if (options_.zero_stage >= 1) make_parameters(bucket, like);
}

void Buckets::make_gradients(Bucket& bucket, const torch::TensorOptions& like) {
    const MemoryScope scope(MemoryCategory::Gradients);
    bucket.gradients = Releasable(bucket.layout->numel(), like.dtype(bucket.dtype));
    bucket.gradients.tensor().zero_();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        slots_[bucket.slots[place]].gradient = bucket.layout->view(bucket.gradients.tensor(), place);
    }
    if (options_.sharded_gradients()) {
        bucket.gradient_shard = at::zeros({bucket.layout->shard_numel()}, like.dtype(bucket.dtype));
        bucket.gradients.release();
    } else if (options_.zero_stage == 1) {
        bucket.gradient_shard = own_range(bucket.gradients.tensor(), bucket);
    }
}

void Buckets::make_parameters(Bucket& bucket, const torch::TensorOptions& like) {
    const MemoryScope scope(MemoryCategory::Parameters);
    bucket.parameters = Releasable(bucket.layout->numel(), like);
    bucket.parameters.tensor().zero_();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        ParallelParameter& parameter = slots_[bucket.slots[place]].parameter;
        torch::Tensor view = bucket.layout->view(bucket.parameters.tensor(), place);
        view.copy_(parameter.initial ? parameter.initial() : parameter.tensor);
        parameter.tensor.set_data(view);
    }
    bucket.parameter_shard = own_range(bucket.parameters.tensor(), bucket);
    if (options_.zero_stage < 3) return;
    bucket.parameter_shard = bucket.parameter_shard.clone();
    bucket.parameters.release();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        const auto range = bucket.layout->range(place, rank_);
        slots_[bucket.slots[place]].own = bucket.parameter_shard.narrow(0, range.in_shard, range.length);
    }
    if (StateStore* const store = options_.parameter_store.get())
        must(store->add(bucket.number, bucket.parameter_shard));
}

torch::Tensor Buckets::own_range(const torch::Tensor& flat, const Bucket& bucket) const {
    return flat.narrow(0, rank_ * bucket.layout->shard_numel(), bucket.layout->shard_numel());
}

void Buckets::take_gradients(Bucket& bucket) {
    if (bucket.gradients.present()) return;
    const MemoryScope scope(MemoryCategory::Gradients);
    bucket.gradients.take();
    bucket.gradients.tensor().zero_();
}

void Buckets::zero_gradients() {
    const torch::NoGradGuard no_grad;
    for (Bucket& bucket : buckets_) {
        if (bucket.gradients.present()) bucket.gradients.tensor().zero_();
        if (bucket.gradient_shard.defined()) bucket.gradient_shard.zero_();
    }
}

}  // namespace plimsoll::engine
