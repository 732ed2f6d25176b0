// SPDX-License-Identifier: Apache-2.0
#include "core/engine/data_parallel.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace plimsoll::engine {

namespace {

struct Slot {
    std::string name;
    torch::Tensor parameter;
    torch::Tensor gradient;  ///< view into the bucket
    std::size_t bucket = 0;
    int expected = 0;  ///< gradients a backward; 0: not counted yet
    int arrived = 0;
};

struct Bucket {
    torch::Tensor flat;
    std::vector<std::size_t> slots;
    int pending = 0;  ///< slots whose gradients have not all arrived
    std::shared_ptr<Work> work;
};

/// Views start at multiples of a cache line, which vector kernels like.
constexpr std::int64_t alignment = 64;

std::int64_t aligned_count(const torch::Tensor& parameter, c10::ScalarType dtype) {
    const std::int64_t step = alignment / static_cast<std::int64_t>(c10::elementSize(dtype));
    return (parameter.numel() + step - 1) / step * step;
}

}  // namespace

struct DataParallel::Impl {
    Collectives& collectives;
    bool fp32_gradients;
    std::vector<Slot> slots;
    std::vector<Bucket> buckets;

    std::mutex mutex;  ///< hooks run on the autograd engine's threads
    bool reducing = false;
    bool counted = false;
    std::size_t next = 0;  ///< the bucket to send next: the order is the same on all ranks
    std::size_t overlapped = 0;
    std::string late;  ///< a parameter whose gradient came after its bucket was sent

    Impl(Collectives& group, bool fp32) : collectives(group), fp32_gradients(fp32) {}

    void make_buckets(Bytes bucket_bytes);
    void gradient_arrived(std::size_t index, const torch::Tensor& parameter);
    void send_ready();
    void send(Bucket& bucket);
    void attach_gradients();
};

namespace {

class ArrivalHook final : public torch::autograd::PostAccumulateGradHook {
public:
    explicit ArrivalHook(std::function<void(const torch::Tensor&)> arrived) : arrived_(std::move(arrived)) {}
    void operator()(const torch::autograd::Variable& parameter) override { arrived_(parameter); }

private:
    std::function<void(const torch::Tensor&)> arrived_;
};

}  // namespace

DataParallel::DataParallel(std::vector<std::pair<std::string, torch::Tensor>> named_parameters,
                           Collectives& collectives, Bytes bucket_bytes, bool fp32_gradients)
    : impl_(std::make_unique<Impl>(collectives, fp32_gradients)) {
    std::reverse(named_parameters.begin(), named_parameters.end());
    for (auto& [name, parameter] : named_parameters) {
        if (!parameter.requires_grad()) continue;
        const bool seen = std::any_of(impl_->slots.begin(), impl_->slots.end(),
                                      [&](const Slot& slot) { return slot.parameter.is_same(parameter); });
        if (seen) continue;  // a tied weight under its second name
        Slot slot;
        slot.name = name;
        slot.parameter = parameter;
        impl_->slots.push_back(std::move(slot));
    }
    impl_->make_buckets(bucket_bytes);
    for (std::size_t i = 0; i < impl_->slots.size(); ++i) {
        torch::autograd::impl::set_post_acc_grad_hooks(
            impl_->slots[i].parameter,
            std::make_unique<ArrivalHook>(
                [impl = impl_.get(), i](const torch::Tensor& parameter) { impl->gradient_arrived(i, parameter); }));
    }
    impl_->attach_gradients();
}

DataParallel::~DataParallel() {
    for (Slot& slot : impl_->slots) {
        torch::autograd::impl::set_post_acc_grad_hooks(slot.parameter, nullptr);
        slot.parameter.mutable_grad().reset();
    }
}

void DataParallel::Impl::make_buckets(Bytes bucket_bytes) {
    // One open bucket a dtype and device: a flat tensor has one of each.
    std::map<std::pair<c10::ScalarType, std::string>, std::size_t> open;
    std::vector<std::int64_t> counts;
    std::vector<c10::ScalarType> dtypes;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const torch::Tensor& parameter = slots[i].parameter;
        const c10::ScalarType dtype = fp32_gradients ? c10::kFloat : parameter.scalar_type();
        const std::int64_t count = aligned_count(parameter, dtype);
        const auto key = std::make_pair(dtype, parameter.device().str());
        auto found = open.find(key);
        const auto size = static_cast<Bytes>(c10::elementSize(dtype));
        if (found == open.end() || (counts[found->second] + count) * size > bucket_bytes) {
            open[key] = buckets.size();
            found = open.find(key);
            buckets.emplace_back();
            counts.push_back(0);
            dtypes.push_back(dtype);
        }
        slots[i].bucket = found->second;
        buckets[found->second].slots.push_back(i);
        counts[found->second] += count;
    }
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        const torch::Tensor& first = slots[buckets[b].slots.front()].parameter;
        buckets[b].flat = torch::zeros({counts[b]}, first.options().dtype(dtypes[b]).requires_grad(false));
        std::int64_t at = 0;
        for (const std::size_t i : buckets[b].slots) {
            const torch::Tensor& parameter = slots[i].parameter;
            slots[i].gradient = buckets[b].flat.narrow(0, at, parameter.numel()).view(parameter.sizes());
            at += aligned_count(parameter, dtypes[b]);
        }
    }
}

/// Autograd adds into .grad in place, so a view into the bucket stays one. With fp32 gradients of half-precision
/// weights it has to start from nothing: the hook takes each gradient over into fp32.
void DataParallel::Impl::attach_gradients() {
    for (Slot& slot : slots) {
        const bool same = slot.gradient.scalar_type() == slot.parameter.scalar_type();
        slot.parameter.mutable_grad() = same ? slot.gradient : torch::Tensor();
    }
}

void DataParallel::Impl::gradient_arrived(std::size_t index, const torch::Tensor& parameter) {
    torch::NoGradGuard no_grad;
    const std::lock_guard lock(mutex);
    Slot& slot = slots[index];
    torch::Tensor& grad = parameter.mutable_grad();
    if (!grad.is_alias_of(slot.gradient)) {
        slot.gradient.add_(grad);
        const bool same = slot.gradient.scalar_type() == parameter.scalar_type();
        grad = same ? slot.gradient : torch::Tensor();
    }
    if (!reducing) return;
    ++slot.arrived;
    if (!counted) return;
    if (slot.bucket < next) late = slot.name;
    if (slot.arrived != std::max(slot.expected, 1)) return;
    if (--buckets[slot.bucket].pending == 0) send_ready();
}

void DataParallel::Impl::send_ready() {
    while (next < buckets.size() && buckets[next].pending == 0) {
        send(buckets[next++]);
        ++overlapped;
    }
}

void DataParallel::Impl::send(Bucket& bucket) {
    // Divided before the sum: fp16 sums over many ranks would overflow.
    if (collectives.world_size() > 1) bucket.flat.div_(collectives.world_size());
    bucket.work = collectives.all_reduce_sum(bucket.flat);
}

Result<void> DataParallel::broadcast_parameters() {
    if (impl_->collectives.world_size() == 1) return {};
    torch::NoGradGuard no_grad;
    for (Bucket& bucket : impl_->buckets) {
        for (const std::size_t i : bucket.slots) impl_->slots[i].gradient.copy_(impl_->slots[i].parameter);
        if (auto sent = impl_->collectives.broadcast(bucket.flat, 0); !sent) return sent;
        for (const std::size_t i : bucket.slots) impl_->slots[i].parameter.copy_(impl_->slots[i].gradient);
    }
    zero_gradients();
    return {};
}

void DataParallel::prepare_backward(bool reduce) {
    const std::lock_guard lock(impl_->mutex);
    impl_->reducing = reduce;
    impl_->next = 0;
    impl_->overlapped = 0;
    impl_->late.clear();
    for (Slot& slot : impl_->slots) slot.arrived = 0;
    for (Bucket& bucket : impl_->buckets) {
        bucket.pending = static_cast<int>(bucket.slots.size());
        bucket.work = nullptr;
    }
    impl_->attach_gradients();
}

Result<void> DataParallel::finish() {
    torch::NoGradGuard no_grad;
    const std::lock_guard lock(impl_->mutex);
    // What autograd had nothing for keeps its zeros.
    while (impl_->next < impl_->buckets.size()) impl_->send(impl_->buckets[impl_->next++]);
    Result<void> result;
    for (Bucket& bucket : impl_->buckets) {
        auto waited = bucket.work->wait();
        if (!waited && result) result = waited;
        bucket.work = nullptr;
    }
    if (!impl_->counted) {
        for (Slot& slot : impl_->slots) slot.expected = slot.arrived;
        impl_->counted = true;
    }
    impl_->reducing = false;
    if (result && !impl_->late.empty()) {
        result = failed(
            "the gradient of {} came after its bucket was sent: the model uses it in more places than in "
            "its first step",
            impl_->late);
    }
    for (Slot& slot : impl_->slots) slot.parameter.mutable_grad() = slot.gradient;
    return result;
}

void DataParallel::zero_gradients() {
    torch::NoGradGuard no_grad;
    for (Bucket& bucket : impl_->buckets) bucket.flat.zero_();
}

std::size_t DataParallel::bucket_count() const { return impl_->buckets.size(); }
std::size_t DataParallel::overlapped_buckets() const { return impl_->overlapped; }

}  // namespace plimsoll::engine
