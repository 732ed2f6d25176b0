// SPDX-License-Identifier: Apache-2.0
#include "core/engine/parallel/data_parallel.h"

#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>

#include "core/engine/memory/memory_scope.h"
#include "core/engine/parallel/flat_bucket.h"
#include "core/engine/parallel/gradient_norms.h"

namespace plimsoll::engine {

namespace {

struct Slot {
    ParallelParameter parameter;
    torch::Tensor gradient;  ///< view into the bucket
    torch::Tensor own;       ///< ZeRO-3: this rank's run, a view into the shard, which stays when that has no memory
    std::size_t bucket = 0, place = 0;
    int expected = 0;  ///< gradients a backward; 0: not counted yet
    int arrived = 0;
};

struct Bucket {
    std::vector<std::size_t> slots;
    std::size_t unit = 0, chunk = 0;
    bool alone = false;
    bool sent = false;  ///< by reduce_chunk(), in this step
    std::unique_ptr<BucketLayout> layout;
    c10::ScalarType dtype = c10::kFloat;  ///< of the gradients
    Releasable gradients;
    torch::Tensor gradient_shard;  ///< ZeRO-1: a view of this rank's run of `gradients`; ZeRO-2 and up: all that stays
    Releasable parameters;         ///< ZeRO-1 and up: the weights are views of it
    torch::Tensor parameter_shard;
    int pending = 0;  ///< slots whose gradients have not all arrived

    torch::Tensor travelling;  ///< what the collective works on, and for a reduce-scatter its result
    torch::Tensor reduced;
    std::shared_ptr<Work> work;

    int uses = 0;  ///< of the gathered parameters
    std::shared_ptr<Work> gathering;
};

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

struct DataParallel::Impl {
    Collectives& collectives;
    DataParallelOptions options;
    std::vector<Slot> slots;
    std::vector<Bucket> buckets;

    std::mutex mutex;  ///< hooks run on the autograd engine's threads
    bool reducing = false;
    std::size_t next = 0;  ///< the bucket to send next: the order is the same on all ranks
    std::size_t overlapped = 0;
    std::string late;  ///< a parameter whose gradient came after its bucket was sent
    Result<void> failure;
    std::optional<std::vector<bool>> measured;  ///< parameters, by index
    double squares = 0;

    Impl(Collectives& group, const DataParallelOptions& chosen) : collectives(group), options(chosen) {}

    bool sharded_gradients() const { return options.zero_stage >= 2; }
    int divisor() const { return options.divisor > 0 ? options.divisor : collectives.world_size(); }
    void make_buckets();
    void make_storage(Bucket& bucket);
    void gradient_arrived(std::size_t index, const torch::Tensor& parameter);
    void send_ready();
    void send(Bucket& bucket);
    void complete(Bucket& bucket);
    void attach_gradients();
    void take_gradients(Bucket& bucket);
    void measure(const Bucket& bucket);
    std::size_t number(const Bucket& bucket) const { return static_cast<std::size_t>(&bucket - buckets.data()); }
    torch::Tensor own_run(const torch::Tensor& flat, const Bucket& bucket) const {
        return flat.narrow(0, collectives.rank() * bucket.layout->shard_numel(), bucket.layout->shard_numel());
    }
};

DataParallel::DataParallel(const std::vector<std::pair<std::string, torch::Tensor>>& named_parameters,
                           Collectives& collectives, Bytes bucket_bytes, bool fp32_gradients)
    : DataParallel(
          [&] {
              std::vector<ParallelParameter> parameters;
              for (const auto& [name, tensor] : named_parameters) parameters.push_back({name, tensor});
              return parameters;
          }(),
          collectives, DataParallelOptions{bucket_bytes, fp32_gradients}) {}

DataParallel::DataParallel(std::vector<ParallelParameter> parameters, Collectives& collectives,
                           const DataParallelOptions& options)
    : impl_(std::make_unique<Impl>(collectives, options)) {
    std::reverse(parameters.begin(), parameters.end());
    for (ParallelParameter& parameter : parameters) {
        if (!parameter.tensor.requires_grad()) continue;
        const bool seen = std::any_of(impl_->slots.begin(), impl_->slots.end(), [&](const Slot& slot) {
            return slot.parameter.tensor.is_same(parameter.tensor);
        });
        if (seen) continue;  // a tied weight under its second name
        Slot slot;
        slot.expected = parameter.gradients;
        slot.parameter = std::move(parameter);
        impl_->slots.push_back(std::move(slot));
    }
    impl_->make_buckets();
    for (std::size_t i = 0; i < impl_->slots.size(); ++i) {
        torch::autograd::impl::set_post_acc_grad_hooks(
            impl_->slots[i].parameter.tensor,
            std::make_unique<ArrivalHook>(
                [impl = impl_.get(), i](const torch::Tensor& parameter) { impl->gradient_arrived(i, parameter); }));
    }
    impl_->attach_gradients();
}

DataParallel::~DataParallel() {
    for (Slot& slot : impl_->slots) {
        torch::autograd::impl::set_post_acc_grad_hooks(slot.parameter.tensor, nullptr);
        slot.parameter.tensor.mutable_grad().reset();
    }
}

void DataParallel::Impl::make_buckets() {
    // One open bucket a dtype, device and, under ZeRO-3, unit: a flat tensor has one of each.
    std::map<std::string, std::size_t> open;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const ParallelParameter& parameter = slots[i].parameter;
        const c10::ScalarType dtype = options.fp32_gradients ? c10::kFloat : parameter.tensor.scalar_type();
        const bool alone = parameter.alone || (options.whole_rows && parameter.tensor.dim() >= 2);
        const std::string key = fmt::format("{} {} {} {} {}", c10::toString(parameter.tensor.scalar_type()),
                                            parameter.tensor.device().str(), parameter.chunk,
                                            options.zero_stage >= 3 ? parameter.unit : 0, alone ? parameter.name : "");
        auto found = open.find(key);
        const auto size = static_cast<Bytes>(c10::elementSize(dtype));
        const bool full = found != open.end() && options.zero_stage < 3 &&
                          (counts[found->second] + parameter.tensor.numel()) * size > options.bucket_bytes;
        if (found == open.end() || full) {
            open[key] = buckets.size();
            found = open.find(key);
            buckets.emplace_back();
            buckets.back().dtype = dtype;
            buckets.back().unit = parameter.unit;
            buckets.back().chunk = parameter.chunk;
            buckets.back().alone = alone;
            counts.push_back(0);
        }
        Bucket& bucket = buckets[found->second];
        slots[i].bucket = found->second;
        slots[i].place = bucket.slots.size();
        bucket.slots.push_back(i);
        counts[found->second] += parameter.tensor.numel();
    }
    for (Bucket& bucket : buckets) make_storage(bucket);
}

void DataParallel::Impl::make_storage(Bucket& bucket) {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> parameters;
    for (const std::size_t i : bucket.slots) parameters.push_back(slots[i].parameter.tensor);
    const int shards = options.zero_stage >= 1 ? collectives.world_size() : 1;
    const bool rows = options.whole_rows && parameters.front().dim() >= 2;
    const std::int64_t granularity = rows ? parameters.front().numel() / parameters.front().size(0) : 1;
    bucket.layout = std::make_unique<BucketLayout>(parameters, bucket.dtype, shards, granularity);
    const std::int64_t numel = bucket.layout->numel();
    const torch::TensorOptions like = parameters.front().options().requires_grad(false);

    std::optional<MemoryScope> scope(MemoryCategory::Gradients);
    bucket.gradients = Releasable(numel, like.dtype(bucket.dtype));
    bucket.gradients.tensor().zero_();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        slots[bucket.slots[place]].gradient = bucket.layout->view(bucket.gradients.tensor(), place);
    }
    if (sharded_gradients()) {
        bucket.gradient_shard = at::zeros({bucket.layout->shard_numel()}, like.dtype(bucket.dtype));
        bucket.gradients.release();
    } else if (options.zero_stage == 1) {
        bucket.gradient_shard = own_run(bucket.gradients.tensor(), bucket);
    }
    if (options.zero_stage == 0) return;

    scope.reset();
    scope.emplace(MemoryCategory::Parameters);
    bucket.parameters = Releasable(numel, like);
    bucket.parameters.tensor().zero_();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        torch::Tensor& parameter = slots[bucket.slots[place]].parameter.tensor;
        torch::Tensor view = bucket.layout->view(bucket.parameters.tensor(), place);
        const auto& initial = slots[bucket.slots[place]].parameter.initial;
        view.copy_(initial ? initial() : parameter);
        parameter.set_data(view);
    }
    bucket.parameter_shard = own_run(bucket.parameters.tensor(), bucket);
    if (options.zero_stage < 3) return;
    bucket.parameter_shard = bucket.parameter_shard.clone();
    bucket.parameters.release();
    for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
        const auto run = bucket.layout->run(place, collectives.rank());
        slots[bucket.slots[place]].own = bucket.parameter_shard.narrow(0, run.in_shard, run.length);
    }
    if (StateStore* const store = options.parameter_store.get())
        must(store->add(number(bucket), bucket.parameter_shard));
}

/// Autograd adds into .grad in place, so a view into the bucket stays one. With fp32 gradients of half-precision
/// weights, and where the bucket has no memory yet, it has to start from nothing: the hook takes each gradient over.
void DataParallel::Impl::attach_gradients() {
    for (Slot& slot : slots) {
        const bool same = slot.gradient.scalar_type() == slot.parameter.tensor.scalar_type() && !sharded_gradients();
        slot.parameter.tensor.mutable_grad() = same ? slot.gradient : torch::Tensor();
    }
}

void DataParallel::Impl::take_gradients(Bucket& bucket) {
    if (bucket.gradients.present()) return;
    const MemoryScope scope(MemoryCategory::Gradients);
    bucket.gradients.take();
    bucket.gradients.tensor().zero_();
}

void DataParallel::Impl::gradient_arrived(std::size_t index, const torch::Tensor& parameter) {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(mutex);
    Slot& slot = slots[index];
    Bucket& bucket = buckets[slot.bucket];
    torch::Tensor& grad = parameter.mutable_grad();
    if (!grad.defined()) return;  // put off (deferred_weights.h): this is autograd's word that nothing came
    if (!grad.is_alias_of(slot.gradient)) {
        if (sharded_gradients()) {
            if (reducing && slot.bucket < next) late = slot.parameter.name;
            take_gradients(bucket);
        }
        slot.gradient.add_(grad);
        const bool same = slot.gradient.scalar_type() == parameter.scalar_type() && !sharded_gradients();
        grad = same ? slot.gradient : torch::Tensor();
    }
    if (!reducing) return;
    ++slot.arrived;
    if (slot.expected > 0 && slot.bucket < next) late = slot.parameter.name;
    if (slot.expected == 0 || slot.arrived != slot.expected) return;
    if (--bucket.pending == 0) send_ready();
}

void DataParallel::Impl::send_ready() {
    while (next < buckets.size() && buckets[next].pending == 0) {
        send(buckets[next++]);
        ++overlapped;
    }
}

void DataParallel::Impl::measure(const Bucket& bucket) {
    std::vector<torch::Tensor> gradients;
    for (const std::size_t i : bucket.slots) {
        if (measured->at(slots.size() - 1 - i)) gradients.push_back(slots[i].gradient);
    }
    for (const double square : squared_norms(gradients)) squares += square;
}

void DataParallel::Impl::send(Bucket& bucket) {
    take_gradients(bucket);
    if (measured && collectives.world_size() > 1) measure(bucket);
    const MemoryScope scope(MemoryCategory::Buffers);
    const torch::Tensor& flat = bucket.gradients.tensor();
    // Divided before the sum: fp16 sums over many ranks would overflow.
    if (divisor() > 1) flat.div_(divisor());
    const c10::ScalarType dtype = travel_dtype(options.reduce_dtype, bucket.dtype);
    bucket.travelling = collectives.world_size() > 1 ? flat.to(dtype) : flat;
    if (options.zero_stage == 0) {
        bucket.work = collectives.all_reduce_sum(bucket.travelling);
        return;
    }
    bucket.reduced = at::empty({bucket.layout->shard_numel()}, bucket.travelling.options());
    bucket.work = collectives.reduce_scatter_sum(bucket.reduced, bucket.travelling);
    // Two buckets at a time have memory.
    if (!sharded_gradients()) return;
    for (Bucket& other : buckets) {
        if (&other != &bucket) complete(other);
    }
}

/// Waits for the bucket's collective and puts its result where gradients are looked for.
void DataParallel::Impl::complete(Bucket& bucket) {
    if (!bucket.work) return;
    const auto waited = bucket.work->wait();
    if (!waited && failure) failure = waited;
    bucket.work = nullptr;
    if (waited && options.zero_stage == 0 && !bucket.travelling.is_same(bucket.gradients.tensor())) {
        bucket.gradients.tensor().copy_(bucket.travelling);
    } else if (waited && options.zero_stage == 1) {
        bucket.gradient_shard.copy_(bucket.reduced);
    } else if (waited && sharded_gradients()) {
        bucket.gradient_shard.add_(bucket.reduced);
    }
    bucket.travelling.reset();
    bucket.reduced.reset();
    if (sharded_gradients()) bucket.gradients.release();
}

Result<void> DataParallel::broadcast_parameters() {
    if (impl_->collectives.world_size() == 1) return {};
    const torch::NoGradGuard no_grad;
    for (Bucket& bucket : impl_->buckets) {
        if (impl_->options.zero_stage >= 1) {
            gather(bucket.unit);
            auto sent = impl_->collectives.broadcast(bucket.parameters.tensor(), 0);
            if (sent && impl_->options.zero_stage >= 3) {
                PLIMSOLL_CHECK(HeldStates::hold(impl_->options.parameter_store.get(), impl_->number(bucket)));
                bucket.parameter_shard.copy_(impl_->own_run(bucket.parameters.tensor(), bucket));
            }
            release(bucket.unit);
            if (!sent) return sent;
            continue;
        }
        const torch::Tensor& flat = bucket.gradients.tensor();
        for (const std::size_t i : bucket.slots) impl_->slots[i].gradient.copy_(impl_->slots[i].parameter.tensor);
        if (auto sent = impl_->collectives.broadcast(flat, 0); !sent) return sent;
        for (const std::size_t i : bucket.slots) impl_->slots[i].parameter.tensor.copy_(impl_->slots[i].gradient);
    }
    zero_gradients();
    return {};
}

void DataParallel::prepare_backward(bool reduce) {
    const std::lock_guard lock(impl_->mutex);
    impl_->reducing = reduce || impl_->sharded_gradients();
    impl_->next = 0;
    impl_->overlapped = static_cast<std::size_t>(
        std::count_if(impl_->buckets.begin(), impl_->buckets.end(), [](const Bucket& bucket) { return bucket.sent; }));
    impl_->late.clear();
    impl_->failure = {};
    for (Slot& slot : impl_->slots) slot.arrived = 0;
    for (Bucket& bucket : impl_->buckets) bucket.pending = static_cast<int>(bucket.slots.size());
    impl_->attach_gradients();
}

void DataParallel::reduce_chunk(std::size_t chunk) {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(impl_->mutex);
    for (Bucket& bucket : impl_->buckets) {
        if (bucket.chunk != chunk || bucket.alone || bucket.sent) continue;
        bucket.sent = true;
        impl_->send(bucket);
    }
}

Result<void> DataParallel::finish() {
    const torch::NoGradGuard no_grad;
    const std::lock_guard lock(impl_->mutex);
    // What autograd had nothing for keeps its zeros.
    for (; impl_->next < impl_->buckets.size(); ++impl_->next) {
        Bucket& bucket = impl_->buckets[impl_->next];
        if (!bucket.sent) impl_->send(bucket);
        bucket.sent = false;
    }
    for (Bucket& bucket : impl_->buckets) impl_->complete(bucket);
    Result<void> result = impl_->failure;
    for (Slot& slot : impl_->slots) {
        if (slot.expected == 0 && impl_->reducing) slot.expected = std::max(slot.arrived, 1);
    }
    impl_->reducing = false;
    if (result && !impl_->late.empty()) {
        result = failed(
            "the gradient of {} came after its bucket was sent: the model uses it in more places than in its first step",
            impl_->late);
    }
    if (!impl_->sharded_gradients()) {
        for (Slot& slot : impl_->slots) slot.parameter.tensor.mutable_grad() = slot.gradient;
    }
    return result;
}

void DataParallel::zero_gradients() {
    const torch::NoGradGuard no_grad;
    for (Bucket& bucket : impl_->buckets) {
        if (bucket.gradients.present()) bucket.gradients.tensor().zero_();
        if (bucket.gradient_shard.defined()) bucket.gradient_shard.zero_();
    }
}

std::vector<OwnedPart> DataParallel::owned_parts() const {
    std::vector<OwnedPart> parts;
    // Back in the order of the model.
    for (std::size_t n = impl_->slots.size(); n-- > 0;) {
        const Slot& slot = impl_->slots[n];
        const Bucket& bucket = impl_->buckets[slot.bucket];
        OwnedPart part;
        part.parameter = impl_->slots.size() - 1 - n;
        part.name = slot.parameter.name;
        if (impl_->options.zero_stage == 0) {
            part.tensor = slot.parameter.tensor.detach();
            part.gradient = slot.gradient;
        } else {
            const auto run = bucket.layout->run(slot.place, impl_->collectives.rank());
            part.tensor = slot.own.defined() ? slot.own : bucket.parameter_shard.narrow(0, run.in_shard, run.length);
            part.gradient = bucket.gradient_shard.narrow(0, run.in_shard, run.length);
            part.begin = run.in_parameter;
            part.bucket = slot.bucket;
        }
        parts.push_back(std::move(part));
    }
    return parts;
}

Result<void> DataParallel::share_parameters() {
    if (impl_->options.zero_stage != 1 && impl_->options.zero_stage != 2) return {};
    std::vector<std::shared_ptr<Work>> works;
    for (Bucket& bucket : impl_->buckets) {
        works.push_back(impl_->collectives.all_gather(bucket.parameters.tensor(), bucket.parameter_shard));
    }
    Result<void> result;
    for (const auto& work : works) {
        if (auto waited = work->wait(); !waited && result) result = waited;
    }
    return result;
}

void DataParallel::start_gather(std::size_t unit) {
    if (impl_->options.zero_stage < 3) return;
    for (Bucket& bucket : impl_->buckets) {
        if (bucket.unit != unit || bucket.parameters.present()) continue;
        const MemoryScope scope(MemoryCategory::Buffers);
        if (StateStore* const store = impl_->options.parameter_store.get()) {
            store->prefetch(impl_->number(bucket));
            continue;
        }
        bucket.parameters.take();
        bucket.gathering = impl_->collectives.all_gather(bucket.parameters.tensor(), bucket.parameter_shard);
    }
}

void DataParallel::gather(std::size_t unit) {
    start_gather(unit);
    for (Bucket& bucket : impl_->buckets) {
        if (bucket.unit != unit) continue;
        ++bucket.uses;
        if (StateStore* const store = impl_->options.parameter_store.get(); store && !bucket.parameters.present()) {
            const MemoryScope scope(MemoryCategory::Buffers);
            must(store->acquire(impl_->number(bucket)));
            bucket.parameters.take();
            must(impl_->collectives.all_gather(bucket.parameters.tensor(), bucket.parameter_shard)->wait());
            store->drop(impl_->number(bucket));
        }
        if (!bucket.gathering) continue;
        must(bucket.gathering->wait());
        bucket.gathering = nullptr;
    }
}

void DataParallel::release(std::size_t unit) {
    if (impl_->options.zero_stage < 3) return;
    for (Bucket& bucket : impl_->buckets) {
        if (bucket.unit != unit || bucket.uses == 0 || --bucket.uses > 0) continue;
        bucket.parameters.release();
    }
}

Result<std::vector<torch::Tensor>> DataParallel::whole(const std::vector<torch::Tensor>& runs) const {
    if (impl_->options.zero_stage == 0) return runs;
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> all(runs.size());
    for (const Bucket& bucket : impl_->buckets) {
        const auto index_of = [&](std::size_t slot) { return impl_->slots.size() - 1 - slot; };
        const torch::TensorOptions options = runs[index_of(bucket.slots.front())].options();
        StateStore* const store = impl_->options.parameter_store.get();
        const bool away = store != nullptr && runs[index_of(bucket.slots.front())].is_alias_of(bucket.parameter_shard);
        if (away) {
            PLIMSOLL_CHECK(store->acquire(impl_->number(bucket)));
        }
        torch::Tensor shard = at::zeros({bucket.layout->shard_numel()}, options);
        for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
            const auto run = bucket.layout->run(place, impl_->collectives.rank());
            if (run.length > 0) {
                shard.narrow(0, run.in_shard, run.length).copy_(runs[index_of(bucket.slots[place])].view(-1));
            }
        }
        if (away) store->drop(impl_->number(bucket));
        torch::Tensor flat = at::empty({bucket.layout->numel()}, options);
        PLIMSOLL_CHECK(impl_->collectives.all_gather(flat, shard)->wait());
        for (std::size_t place = 0; place < bucket.slots.size(); ++place) {
            all[index_of(bucket.slots[place])] = bucket.layout->view(flat, place).clone();
        }
    }
    return all;
}

void DataParallel::measure_own_gradients(bool on, std::vector<bool> counts) {
    const std::lock_guard lock(impl_->mutex);
    impl_->squares = 0;
    impl_->measured.reset();
    if (on) impl_->measured = std::move(counts);
}

void DataParallel::add_own_squares() {
    const std::lock_guard lock(impl_->mutex);
    for (const Bucket& bucket : impl_->buckets) impl_->measure(bucket);
}

double DataParallel::own_squares() const { return impl_->squares; }

StateStore* DataParallel::parameter_store() const { return impl_->options.parameter_store.get(); }
std::size_t DataParallel::bucket_count() const { return impl_->buckets.size(); }
std::size_t DataParallel::overlapped_buckets() const { return impl_->overlapped; }

}  // namespace plimsoll::engine
