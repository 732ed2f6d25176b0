// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/gradient_reduction.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>

#include "core/engine/memory/memory_scope.h"

namespace plimsoll::engine {

namespace {

class ArrivalHook final : public torch::autograd::PostAccumulateGradHook {
public:
    explicit ArrivalHook(std::function<void(const torch::Tensor&)> arrived) : arrived_(std::move(arrived)) {}
    void operator()(const torch::autograd::Variable& parameter) override { arrived_(parameter); }

private:
    std::function<void(const torch::Tensor&)> arrived_;
};

c10::ScalarType travel_dtype(ReduceDtype wanted, c10::ScalarType own) {
    switch (wanted) {
        case ReduceDtype::Fp32:
            return c10::kFloat;
        case ReduceDtype::Bf16:
            return c10::kBFloat16;
        case ReduceDtype::Fp16:
            return c10::kHalf;
        case ReduceDtype::Gradient:
            break;
    }
    return own;
}

}  // namespace

GradientReduction::GradientReduction(Buckets& buckets, Collectives& ranks,
                                     std::function<void(const Bucket&)> before_reduction)
    : buckets_(buckets),
      ranks_(ranks),
      before_reduction_(std::move(before_reduction)),
      arrivals_(buckets.slots().size()),
      transits_(buckets.all().size()) {
    for (std::size_t i = 0; i < arrivals_.size(); ++i) {
        const ParallelParameter& parameter = buckets_.slots()[i].parameter;
        arrivals_[i].expected = parameter.gradients;
        torch::autograd::impl::set_post_acc_grad_hooks(
            parameter.tensor,
            std::make_unique<ArrivalHook>([this, i](const torch::Tensor& weight) { arrived(i, weight); }));
    }
    attach_gradients();
}

GradientReduction::~GradientReduction() {
    for (Slot& slot : buckets_.slots()) {
        torch::autograd::impl::set_post_acc_grad_hooks(slot.parameter.tensor, nullptr);
        slot.parameter.tensor.mutable_grad().reset();
    }
}

bool GradientReduction::adds_in_place(const Slot& slot) const {
    return slot.gradient.scalar_type() == slot.parameter.tensor.scalar_type() &&
           !buckets_.options().sharded_gradients();
}

/// Autograd adds into .grad in place, so a view into the bucket stays one. With fp32 gradients of half-precision
/// weights, and where the bucket has no memory yet, it has to start from nothing: the hook takes each gradient over.
void GradientReduction::attach_gradients() {
    for (Slot& slot : buckets_.slots()) {
        slot.parameter.tensor.mutable_grad() = adds_in_place(slot) ? slot.gradient : torch::Tensor();
    }
}

void GradientReduction::arrived(std::size_t index, const torch::Tensor& parameter) {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(mutex_);
    Slot& slot = buckets_.slots()[index];
    torch::Tensor& grad = parameter.mutable_grad();
    if (!grad.defined()) return;  // put off (deferred_weights.h): this is autograd's word that nothing came
    if (!grad.is_alias_of(slot.gradient)) {
        if (buckets_.options().sharded_gradients()) {
            if (reducing_ && slot.bucket < next_) late_ = slot.parameter.name;
            Buckets::take_gradients(buckets_.all()[slot.bucket]);
        }
        slot.gradient.add_(grad);
        grad = adds_in_place(slot) ? slot.gradient : torch::Tensor();
    }
    if (!reducing_) return;
    Arrivals& gradients = arrivals_[index];
    ++gradients.came;
    if (gradients.expected > 0 && slot.bucket < next_) late_ = slot.parameter.name;
    if (gradients.expected == 0 || gradients.came != gradients.expected) return;
    if (--transits_[slot.bucket].pending > 0) return;
    while (next_ < transits_.size() && transits_[next_].pending == 0) {
        send(buckets_.all()[next_++]);
        ++overlapped_;
    }
}

void GradientReduction::send(Bucket& bucket) {
    const DataParallelOptions& options = buckets_.options();
    Transit& transit = transits_[bucket.number];
    Buckets::take_gradients(bucket);
    before_reduction_(bucket);
    const MemoryScope scope(MemoryCategory::Buffers);
    const torch::Tensor& flat = bucket.gradients.tensor();
    // Divided before the sum: fp16 sums over many ranks would overflow.
    const int divisor = options.divisor > 0 ? options.divisor : ranks_.world_size();
    if (divisor > 1) flat.div_(divisor);
    transit.travelling = ranks_.world_size() > 1 ? flat.to(travel_dtype(options.reduce_dtype, bucket.dtype)) : flat;
    if (options.zero_stage == 0) {
        transit.work = ranks_.all_reduce_sum(transit.travelling);
        return;
    }
    transit.reduced = at::empty({bucket.layout->shard_numel()}, transit.travelling.options());
    transit.work = ranks_.reduce_scatter_sum(transit.reduced, transit.travelling);
    // Two buckets at a time have memory.
    if (!options.sharded_gradients()) return;
    for (Bucket& other : buckets_.all()) {
        if (&other != &bucket) complete(other);
    }
}

/// Waits for the bucket's collective and puts its result where gradients are looked for.
void GradientReduction::complete(Bucket& bucket) {
    const DataParallelOptions& options = buckets_.options();
    Transit& transit = transits_[bucket.number];
    if (!transit.work) return;
    const auto waited = transit.work->wait();
    if (!waited && failure_) failure_ = waited;
    transit.work = nullptr;
    if (waited && options.zero_stage == 0 && !transit.travelling.is_same(bucket.gradients.tensor())) {
        bucket.gradients.tensor().copy_(transit.travelling);
    } else if (waited && options.zero_stage == 1) {
        bucket.gradient_shard.copy_(transit.reduced);
    } else if (waited && options.sharded_gradients()) {
        bucket.gradient_shard.add_(transit.reduced);
    }
    transit.travelling.reset();
    transit.reduced.reset();
    if (options.sharded_gradients()) bucket.gradients.release();
}

void GradientReduction::prepare(bool reduce) {
    const std::lock_guard lock(mutex_);
    reducing_ = reduce || buckets_.options().sharded_gradients();
    next_ = 0;
    overlapped_ = static_cast<std::size_t>(
        std::count_if(transits_.begin(), transits_.end(), [](const Transit& transit) { return transit.sent; }));
    late_.clear();
    failure_ = {};
    for (Arrivals& gradients : arrivals_) gradients.came = 0;
    for (const Bucket& bucket : buckets_.all())
        transits_[bucket.number].pending = static_cast<int>(bucket.slots.size());
    attach_gradients();
}

void GradientReduction::flush(std::size_t chunk) {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(mutex_);
    for (Bucket& bucket : buckets_.all()) {
        if (bucket.chunk != chunk || bucket.alone || transits_[bucket.number].sent) continue;
        transits_[bucket.number].sent = true;
        send(bucket);
    }
}

Result<void> GradientReduction::finish() {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(mutex_);
    // What autograd had nothing for keeps its zeros.
    for (; next_ < transits_.size(); ++next_) {
        if (!transits_[next_].sent) send(buckets_.all()[next_]);
        transits_[next_].sent = false;
    }
    for (Bucket& bucket : buckets_.all()) complete(bucket);
    Result<void> result = failure_;
    for (Arrivals& gradients : arrivals_) {
        if (gradients.expected == 0 && reducing_) gradients.expected = std::max(gradients.came, 1);
    }
    reducing_ = false;
    if (result && !late_.empty()) {
        result = failed(
            "the gradient of {} came after its bucket was sent: the model uses it in more places than in its first step",
            late_);
    }
    if (!buckets_.options().sharded_gradients()) {
        for (Slot& slot : buckets_.slots()) slot.parameter.tensor.mutable_grad() = slot.gradient;
    }
    return result;
}

}  // namespace plimsoll::engine
