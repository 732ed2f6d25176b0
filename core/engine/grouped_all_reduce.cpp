// SPDX-License-Identifier: Apache-2.0
#include "core/engine/grouped_all_reduce.h"

namespace plimsoll::engine {

namespace {

class TwoLevelWork final : public Work {
public:
    TwoLevelWork(torch::Tensor tensor, Collectives& inside, Collectives& between)
        : tensor_(std::move(tensor)), inside_(inside), between_(between) {
        const torch::NoGradGuard no_grad;
        const std::int64_t n = inside.world_size();
        const std::int64_t part = (tensor_.numel() + n - 1) / n;
        padded_ = at::zeros({n * part}, tensor_.options());
        padded_.narrow(0, 0, tensor_.numel()).copy_(tensor_.view(-1));
        own_ = at::empty({part}, tensor_.options());
        first_ = inside_.reduce_scatter_sum(own_, padded_);
    }
    Result<void> wait() override {
        const torch::NoGradGuard no_grad;
        if (auto done = first_->wait(); !done) return done;
        if (auto done = between_.all_reduce_sum(own_)->wait(); !done) return done;
        if (auto done = inside_.all_gather(padded_, own_)->wait(); !done) return done;
        tensor_.view(-1).copy_(padded_.narrow(0, 0, tensor_.numel()));
        return {};
    }

private:
    torch::Tensor tensor_, padded_, own_;
    Collectives& inside_;
    Collectives& between_;
    std::shared_ptr<Work> first_;
};

class Grouped final : public Collectives {
public:
    Grouped(std::unique_ptr<Collectives> flat, std::unique_ptr<Collectives> inside,
            std::unique_ptr<Collectives> between)
        : flat_(std::move(flat)), inside_(std::move(inside)), between_(std::move(between)) {}

    int rank() const override { return flat_->rank(); }
    int world_size() const override { return flat_->world_size(); }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        return std::make_shared<TwoLevelWork>(std::move(tensor), *inside_, *between_);
    }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor tensor) override { return flat_->all_reduce_max(tensor); }
    std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) override {
        return flat_->all_gather(output, input);
    }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) override {
        return flat_->reduce_scatter_sum(output, input);
    }
    std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input, std::vector<std::int64_t> output_rows,
                                     std::vector<std::int64_t> input_rows) override {
        return flat_->all_to_all(output, input, std::move(output_rows), std::move(input_rows));
    }
    std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) override {
        return flat_->send(tensor, peer, tag);
    }
    std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) override {
        return flat_->receive(tensor, peer, tag);
    }
    Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) override {
        return flat_->broadcast(tensor, root, timeout);
    }
    Result<void> barrier(Seconds timeout) override { return flat_->barrier(timeout); }
    Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) override {
        return flat_->subgroup(name, members);
    }

private:
    std::unique_ptr<Collectives> flat_, inside_, between_;
};

}  // namespace

Result<std::unique_ptr<Collectives>> grouped_all_reduce(std::unique_ptr<Collectives> flat, Collectives& world,
                                                        const std::vector<int>& members, int group_size) {
    const int place = flat->rank();
    std::vector<int> inside, between;
    for (int i = 0; i < static_cast<int>(members.size()); ++i) {
        const int member = members[static_cast<std::size_t>(i)];
        if (i / group_size == place / group_size) inside.push_back(member);
        if (i % group_size == place % group_size) between.push_back(member);
    }
    auto near = world.subgroup("all-reduce-inside", inside);
    if (!near) return near;
    auto far = world.subgroup("all-reduce-between", between);
    if (!far) return far;
    return std::make_unique<Grouped>(std::move(flat), std::move(*near), std::move(*far));
}

}  // namespace plimsoll::engine
