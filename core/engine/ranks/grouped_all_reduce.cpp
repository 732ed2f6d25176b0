// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/grouped_all_reduce.h"

namespace plimsoll::engine {

namespace {

/// The divisible part of the tensor is summed in place: each rank of the group works on a piece of its own. The
/// remainder, with fewer numbers than the group has ranks, goes through a padded copy.
class TwoLevelWork final : public Work {
public:
    TwoLevelWork(const torch::Tensor& tensor, Collectives& inside, Collectives& between)
        : inside_(inside), between_(between) {
        const torch::NoGradGuard no_grad;
        const auto flat = tensor.view(-1);
        const std::int64_t n = inside.world_size();
        const std::int64_t even = flat.numel() / n * n, left = flat.numel() - even;
        if (even > 0) pieces_.push_back(begin(flat.narrow(0, 0, even)));
        if (left == 0) return;
        rest_ = flat.narrow(0, even, left);
        const auto padded = at::zeros({n}, flat.options());
        padded.narrow(0, 0, left).copy_(rest_);
        pieces_.push_back(begin(padded));
    }

    Result<void> wait() override {
        const torch::NoGradGuard no_grad;
        for (const auto& piece : pieces_) {
            if (auto done = piece.scattered->wait(); !done) return done;
            if (auto done = between_.all_reduce_sum(piece.own)->wait(); !done) return done;
            if (auto done = inside_.all_gather(piece.whole, piece.own)->wait(); !done) return done;
        }
        if (rest_.defined()) rest_.copy_(pieces_.back().whole.narrow(0, 0, rest_.numel()));
        return {};
    }

private:
    struct Piece {
        torch::Tensor whole, own;  ///< own: this rank's part of whole
        std::shared_ptr<Work> scattered;
    };

    Piece begin(torch::Tensor whole) {
        const std::int64_t part = whole.numel() / inside_.world_size();
        auto own = whole.narrow(0, inside_.rank() * part, part);
        auto scattered = inside_.reduce_scatter_sum(own, whole);
        return {std::move(whole), std::move(own), std::move(scattered)};
    }

    Collectives& inside_;
    Collectives& between_;
    std::vector<Piece> pieces_;
    torch::Tensor rest_;
};

class Grouped final : public Collectives {
public:
    Grouped(std::unique_ptr<Collectives> flat, std::unique_ptr<Collectives> inside,
            std::unique_ptr<Collectives> between)
        : flat_(std::move(flat)), inside_(std::move(inside)), between_(std::move(between)) {}

    int rank() const override { return flat_->rank(); }
    int world_size() const override { return flat_->world_size(); }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        return std::make_shared<TwoLevelWork>(tensor, *inside_, *between_);
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
    std::shared_ptr<Work> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
        return flat_->exchange(std::move(sends), std::move(receives));
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
