// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/host_and_device.h"

namespace plimsoll::engine {

namespace {

class HostAndDevice final : public Collectives {
public:
    HostAndDevice(std::unique_ptr<Collectives> host, std::unique_ptr<Collectives> device, MakeSubgroup make_subgroup)
        : host_(std::move(host)), device_(std::move(device)), make_subgroup_(std::move(make_subgroup)) {}

    int rank() const override { return host_->rank(); }
    int world_size() const override { return host_->world_size(); }
    Seconds waited() const override { return host_->waited(); }

    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        Collectives& group = of(tensor);
        return group.all_reduce_sum(std::move(tensor));
    }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor tensor) override {
        Collectives& group = of(tensor);
        return group.all_reduce_max(std::move(tensor));
    }
    std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) override {
        Collectives& group = of(input);
        return group.all_gather(std::move(output), std::move(input));
    }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) override {
        Collectives& group = of(input);
        return group.reduce_scatter_sum(std::move(output), std::move(input));
    }
    std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input, std::vector<std::int64_t> output_rows,
                                     std::vector<std::int64_t> input_rows) override {
        Collectives& group = of(input);
        return group.all_to_all(std::move(output), std::move(input), std::move(output_rows), std::move(input_rows));
    }
    std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) override {
        Collectives& group = of(tensor);
        return group.send(std::move(tensor), peer, tag);
    }
    std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) override {
        Collectives& group = of(tensor);
        return group.receive(std::move(tensor), peer, tag);
    }
    std::shared_ptr<Work> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
        if (sends.empty() && receives.empty()) return host_->exchange({}, {});
        Collectives& group = of((sends.empty() ? receives : sends).front().tensor);
        return group.exchange(std::move(sends), std::move(receives));
    }
    Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) override {
        Collectives& group = of(tensor);
        return group.broadcast(std::move(tensor), root, timeout);
    }
    Result<void> barrier(Seconds timeout) override { return host_->barrier(timeout); }

    Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) override {
        return make_subgroup_(name, members, rank());
    }
    Result<std::unique_ptr<Collectives>> one_way(const std::string& name, int from, int to) override {
        return device_->one_way(name, from, to);
    }

private:
    Collectives& of(const torch::Tensor& tensor) const { return tensor.is_cpu() ? *host_ : *device_; }

    std::unique_ptr<Collectives> host_, device_;
    MakeSubgroup make_subgroup_;
};

}  // namespace

std::unique_ptr<Collectives> host_and_device(std::unique_ptr<Collectives> host, std::unique_ptr<Collectives> device,
                                             MakeSubgroup make_subgroup) {
    return std::make_unique<HostAndDevice>(std::move(host), std::move(device), std::move(make_subgroup));
}

}  // namespace plimsoll::engine
