// SPDX-License-Identifier: Apache-2.0
#include "core/engine/dry_run/counting_collectives.h"

#include <algorithm>

namespace plimsoll::engine {

namespace {

class DoneWork final : public Work {
public:
    Result<void> wait() override { return {}; }
};

std::shared_ptr<Work> done() { return std::make_shared<DoneWork>(); }

class CountingCollectives final : public Collectives {
public:
    CountingCollectives(int rank, int world_size) : rank_(rank), world_size_(world_size) {}

    int rank() const override { return rank_; }
    int world_size() const override { return world_size_; }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor) override { return done(); }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor) override { return done(); }
    std::shared_ptr<Work> all_gather(torch::Tensor, torch::Tensor) override { return done(); }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor, torch::Tensor) override { return done(); }
    std::shared_ptr<Work> all_to_all(torch::Tensor, torch::Tensor, std::vector<std::int64_t>,
                                     std::vector<std::int64_t>) override {
        return done();
    }
    std::shared_ptr<Work> send(torch::Tensor, int, int) override { return done(); }
    std::shared_ptr<Work> receive(torch::Tensor, int, int) override { return done(); }
    Result<void> broadcast(torch::Tensor, int, Seconds) override { return {}; }
    Result<void> barrier(Seconds) override { return {}; }
    Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) override {
        const auto place = std::find(members.begin(), members.end(), rank_);
        if (place == members.end()) return failed("rank {} is not of the {} group", rank_, name);
        return counting_collectives(static_cast<int>(place - members.begin()), static_cast<int>(members.size()));
    }

private:
    int rank_, world_size_;
};

}  // namespace

std::unique_ptr<Collectives> counting_collectives(int rank, int world_size) {
    if (world_size == 1) return single_rank();
    return std::make_unique<CountingCollectives>(rank, world_size);
}

}  // namespace plimsoll::engine
