// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/collectives.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "core/engine/base/failure.h"
#include "core/engine/ranks/accelerator.h"
#include "core/engine/ranks/group_call.h"
#include "core/engine/ranks/host_and_device.h"
#include "core/engine/ranks/rendezvous.h"
#include "core/engine/ranks/shared_group.h"
#include "core/engine/ranks/wait_board.h"

namespace plimsoll::engine {

namespace {

/// State that a group and its subgroups share.
struct Meeting {
    c10::intrusive_ptr<c10d::Store> store;
    std::string address;
    Seconds timeout = 0;
    Accelerator* accelerator = nullptr;
    std::unique_ptr<WaitBoard> board;
};

/// The meaning of an exception of Gloo, which has no types for them here: a broken connection is a rank that ended,
/// silence is a rank that hangs.
tl::unexpected<Error> lost_peer(const GroupCall& call, WaitBoard* board, const std::exception& error) {
    const std::string text = first_line(error);
    if (text.find("imed out") != std::string::npos || text.find("imeout") != std::string::npos) {
        return silent_peer(call, board, text);
    }
    const bool local = text.find("heck failed") != std::string::npos || text.find("nvalid") != std::string::npos;
    return local ? not_possible(call, text) : ended_peer(call, board, text);
}

/// The meaning of an exception of a call on an accelerator's tensors.
tl::unexpected<Error> lost_device_call(const GroupCall& call, WaitBoard* board, c10d::Backend& backend,
                                       const std::exception& error) {
    switch (failure_of(error)) {
        case Failure::OutOfMemory:
            return failed("{}", out_of_memory_sentence(fmt::format("in the {}: {}", call.text(), first_line(error))));
        case Failure::Device:
            return failed("the accelerator failed in the {}: {}", call.text(), first_line(error));
        case Failure::Store:
            return ended_peer(call, board, first_line(error));
        case Failure::Backend:
            break;
        case Failure::Other:
            return not_possible(call, first_line(error));
    }
    switch (backend.getError()) {
        case c10d::ErrorType::TIMEOUT:
            return silent_peer(call, board, first_line(error));
        case c10d::ErrorType::REMOTE_ERROR:
            return ended_peer(call, board, first_line(error));
        case c10d::ErrorType::COMM_ERROR:
        case c10d::ErrorType::SUCCESS:
            break;
    }
    return failed("{} failed in the {}: {}", backend.getBackendName(), call.text(), first_line(error));
}

/// For Gloo, which knows no waiting without a limit: messages take the time that their pairs were connected with.
constexpr std::chrono::milliseconds as_good_as_ever = std::chrono::hours(24 * 30);

/// How a call is waited for: Gloo's are watched here (Patience), an accelerator's backend has a watchdog of its own.
enum class Kind { Device, Gloo, GlooMessage };

class GroupWork final : public Work {
public:
    GroupWork(c10::intrusive_ptr<c10d::Work> work, c10::intrusive_ptr<c10d::Backend> backend, GroupCall call,
              WaitBoard* board, Kind kind)
        : work_(std::move(work)), backend_(std::move(backend)), call_(std::move(call)), board_(board), kind_(kind) {}
    Result<void> wait() override {
        try {
            const WaitScope scope(board_, board_ != nullptr ? call_.text() : "");
            if (kind_ == Kind::GlooMessage) return wait_for_message();
            if (kind_ == Kind::Gloo) return wait_for_all();
            work_->wait();
            return {};
        } catch (const std::exception& error) {
            if (kind_ == Kind::Device) return lost_device_call(call_, board_, *backend_, error);
            return lost_peer(call_, board_, error);
        }
    }

private:
    /// c10d's wait(time) says that the time is over by throwing, and leaves the call running.
    Result<void> wait_for_all() {
        const Patience patience = patience_on(board_, call_.timeout);
        Deadline deadline(patience);
        const auto slice = to_milliseconds(std::clamp(call_.timeout / 8, 0.02, 5.0));
        for (;;) {
            try {
                work_->wait(slice);
                return {};
            } catch (const std::exception&) {
                if (work_->isCompleted()) break;
            }
            if (deadline.passed()) return silent_peer(call_, board_, "timed out in Gloo");
        }
        work_->wait();
        return {};
    }

    /// A message that is waited for with a time breaks every connection when the time is over, so the board ends it.
    Result<void> wait_for_message() {
        const auto watch = board_->watch(patience_on(board_, call_.timeout), [work = work_] { work->abort(); });
        bool came = false;
        try {
            came = work_->wait(as_good_as_ever);
        } catch (...) {
            watch->end();
            throw;
        }
        watch->end();
        if (came) return {};
        return silent_peer(call_, board_, "timed out in Gloo");
    }

    c10::intrusive_ptr<c10d::Work> work_;
    c10::intrusive_ptr<c10d::Backend> backend_;
    GroupCall call_;
    WaitBoard* board_;
    Kind kind_;
};

/// Several calls that end together.
class JointWork final : public Work {
public:
    explicit JointWork(std::vector<std::shared_ptr<Work>> works) : works_(std::move(works)) {}
    Result<void> wait() override {
        Result<void> all;
        for (const auto& work : works_) {
            if (auto done = work->wait(); !done && all) all = done;
        }
        return all;
    }

private:
    std::vector<std::shared_ptr<Work>> works_;
};

/// Work that has already ended: done, or failed at its start.
class EndedWork final : public Work {
public:
    explicit EndedWork(Result<void> result = {}) : result_(std::move(result)) {}
    Result<void> wait() override { return result_; }

private:
    Result<void> result_;
};

std::shared_ptr<Work> done() { return std::make_shared<EndedWork>(); }

class SingleRank final : public Collectives {
public:
    int rank() const override { return 0; }
    int world_size() const override { return 1; }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor) override { return done(); }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor) override { return done(); }
    std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) override { return copy(output, input); }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) override {
        return copy(output, input);
    }
    std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input, std::vector<std::int64_t>,
                                     std::vector<std::int64_t>) override {
        return copy(output, input);
    }
    std::shared_ptr<Work> send(torch::Tensor, int, int) override { return nobody(); }
    std::shared_ptr<Work> receive(torch::Tensor, int, int) override { return nobody(); }
    Result<void> broadcast(torch::Tensor, int, Seconds) override { return {}; }
    Result<void> barrier(Seconds) override { return {}; }
    Result<std::unique_ptr<Collectives>> subgroup(const std::string&, const std::vector<int>&) override {
        return std::make_unique<SingleRank>();
    }

private:
    static std::shared_ptr<Work> copy(const torch::Tensor& output, const torch::Tensor& input) {
        const torch::NoGradGuard no_grad;
        if (!output.is_alias_of(input)) output.view(-1).copy_(input.view(-1));
        return done();
    }
    static std::shared_ptr<Work> nobody() {
        return std::make_shared<EndedWork>(failed("a rank that is alone has nobody to exchange messages with"));
    }
};

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, int rank, int world_size,
                                            const std::string& address, Seconds timeout) {
    auto options = c10d::ProcessGroupGloo::Options::create(to_milliseconds(timeout));
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    options->devices.push_back(interface != nullptr && *interface != '\0'
                                   ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                   : c10d::ProcessGroupGloo::createDeviceForHostname(address));
    auto backend = c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, world_size, options);
    // From here on Patience decides how long is too long: Gloo would give up ranks that compute.
    backend->setTimeout(as_good_as_ever);
    return backend;
}

/// The ranks' group of one backend, for CPU tensors or for those of the accelerator.
class Group final : public Collectives {
public:
    /// `name` is empty for the group of all ranks.
    Group(std::shared_ptr<Meeting> meeting, c10::intrusive_ptr<c10d::Backend> backend, std::string name, bool on_device)
        : meeting_(std::move(meeting)), backend_(std::move(backend)), name_(std::move(name)), on_device_(on_device) {}
    ~Group() override {
        if (!on_device_) return;
        // NCCL complains in the log where nobody has said that the group ends.
        try {
            backend_->shutdown();
        } catch (const std::exception&) {
            // The work is done; what the backend still had to do is nobody's loss.
        }
    }

    int rank() const override { return backend_->getRank(); }
    int world_size() const override { return backend_->getSize(); }
    Seconds waited() const override { return meeting_->board->waited_seconds(); }

    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        return all_reduce(std::move(tensor), c10d::ReduceOp::SUM);
    }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor tensor) override {
        return all_reduce(std::move(tensor), c10d::ReduceOp::MAX);
    }
    std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) override {
        torch::Tensor output_rows = output.view({-1}), input_rows = input.view({-1});
        return start("all-gather", tensor_text(input), 0,
                     [&] { return backend_->_allgather_base(output_rows, input_rows, c10d::AllgatherOptions()); });
    }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) override {
        torch::Tensor output_rows = output.view({-1}), input_rows = input.view({-1});
        return start("reduce-scatter", tensor_text(input), 0, [&] {
            return backend_->_reduce_scatter_base(output_rows, input_rows, c10d::ReduceScatterOptions());
        });
    }
    std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input, std::vector<std::int64_t> output_rows,
                                     std::vector<std::int64_t> input_rows) override {
        return start("all-to-all", tensor_text(input), 0, [&] {
            return backend_->alltoall_base(output, input, output_rows, input_rows, c10d::AllToAllOptions());
        });
    }
    std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) override {
        return start(
            "send", tensor_text(tensor), 0,
            [&] {
                std::vector<torch::Tensor> tensors{tensor};
                return backend_->send(tensors, peer, tag);
            },
            Kind::GlooMessage);
    }
    std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) override {
        return start(
            "receive", tensor_text(tensor), 0,
            [&] {
                std::vector<torch::Tensor> tensors{tensor};
                return backend_->recv(tensors, peer, tag);
            },
            Kind::GlooMessage);
    }
    std::shared_ptr<Work> exchange(std::vector<Message> sends, std::vector<Message> receives) override {
        if (!on_device_) return Collectives::exchange(std::move(sends), std::move(receives));
        const std::string text = sends.empty() ? "" : tensor_text(sends.front().tensor);
        return start("exchange", text, 0, [&] {
            backend_->startCoalescing();
            for (const Message& each : sends) {
                std::vector<torch::Tensor> tensors{each.tensor};
                backend_->send(tensors, each.peer, each.tag);
            }
            for (const Message& each : receives) {
                std::vector<torch::Tensor> tensors{each.tensor};
                backend_->recv(tensors, each.peer, each.tag);
            }
            return backend_->endCoalescing();
        });
    }
    Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) override {
        c10d::BroadcastOptions options;
        options.rootRank = root;
        return start("broadcast", tensor_text(tensor), timeout,
                     [&] {
                         std::vector<torch::Tensor> tensors{tensor};
                         return backend_->broadcast(tensors, options);
                     })
            ->wait();
    }
    Result<void> barrier(Seconds timeout) override {
        return start("barrier", "", timeout, [&] { return backend_->barrier(c10d::BarrierOptions()); })->wait();
    }

    Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) override {
        return meet_again(meeting_, name, members, rank());
    }

    Result<std::unique_ptr<Collectives>> one_way(const std::string& name, int from, int to) override {
        if (!on_device_) return nullptr;
        const auto store =
            c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}-link/{}-{}", name, from, to), meeting_->store);
        return connect_device(meeting_, store, rank() == from ? 0 : 1, 2,
                              fmt::format("{} link from rank {} to rank {}", name, from, to));
    }

    static Result<std::unique_ptr<Collectives>> connect(const std::shared_ptr<Meeting>& meeting,
                                                        const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                        int world_size, const std::string& name) {
        PLIMSOLL_TRY(auto host, connect_host(meeting, store, rank, world_size, name));
        if (meeting->accelerator == nullptr) return host;
        const auto device_store = c10::make_intrusive<c10d::PrefixStore>("device", store);
        PLIMSOLL_TRY(auto device, connect_device(meeting, device_store, rank, world_size, name));
        return host_and_device(std::move(host), std::move(device),
                               [meeting](const std::string& its_name, const std::vector<int>& members, int own) {
                                   return meet_again(meeting, its_name, members, own);
                               });
    }

    static Result<std::unique_ptr<Collectives>> meet_again(const std::shared_ptr<Meeting>& meeting,
                                                           const std::string& name, const std::vector<int>& members,
                                                           int own) {
        if (members.size() == 1) return std::make_unique<SingleRank>();
        const auto place = std::find(members.begin(), members.end(), own);
        if (place == members.end()) return failed("rank {} is not of the {} group", own, name);
        const auto store =
            c10::make_intrusive<c10d::PrefixStore>(fmt::format("{}/{}", name, fmt::join(members, "-")), meeting->store);
        return connect(meeting, store, static_cast<int>(place - members.begin()), static_cast<int>(members.size()),
                       fmt::format("{} group (ranks {})", name, fmt::join(members, ", ")));
    }

private:
    std::shared_ptr<Work> all_reduce(torch::Tensor tensor, c10d::ReduceOp::RedOpType op) {
        return start("all-reduce", tensor_text(tensor), 0, [&] {
            std::vector<torch::Tensor> tensors{tensor};
            c10d::AllreduceOptions options;
            options.reduceOp = op;
            return backend_->allreduce(tensors, options);
        });
    }

    static tl::unexpected<Error> not_connected(int ranks, Seconds timeout, const std::exception& error) {
        return failed(
            "the {} ranks could not connect to one another within {} ({}); check that all of them were started and, over "
            "several machines, that GLOO_SOCKET_IFNAME (NCCL_SOCKET_IFNAME) names a network they share",
            ranks, format_seconds(timeout), first_line(error));
    }

    static Result<std::unique_ptr<Collectives>> connect_host(const std::shared_ptr<Meeting>& meeting,
                                                             const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                             int world_size, const std::string& name) {
        const Seconds timeout = meeting->timeout;
        try {
            auto gloo = make_gloo(store, rank, world_size, meeting->address, timeout);
            auto group = std::make_unique<Group>(meeting, std::move(gloo), name, false);
            return with_shared_memory(std::move(group), {*store, name, timeout, meeting->board.get()});
        } catch (const std::exception& error) {
            return not_connected(world_size, timeout, error);
        }
    }

    static Result<std::unique_ptr<Collectives>> connect_device(const std::shared_ptr<Meeting>& meeting,
                                                               const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                               int world_size, const std::string& name) {
        try {
            auto backend = meeting->accelerator->make_backend(store, rank, world_size, meeting->timeout);
            return std::make_unique<Group>(meeting, std::move(backend), name, true);
        } catch (const std::exception& error) {
            return not_connected(world_size, meeting->timeout, error);
        }
    }

    template <class Start>
    std::shared_ptr<Work> start(const char* what, std::string tensor, Seconds timeout, Start&& begin,
                                Kind of_gloo = Kind::Gloo) {
        GroupCall call{what, std::move(tensor), name_, timeout > 0 ? timeout : meeting_->timeout};
        WaitBoard* const board = meeting_->board.get();
        try {
            return std::make_shared<GroupWork>(begin(), backend_, std::move(call), board,
                                               on_device_ ? Kind::Device : of_gloo);
        } catch (const std::exception& error) {
            if (on_device_) return std::make_shared<EndedWork>(lost_device_call(call, board, *backend_, error));
            return std::make_shared<EndedWork>(lost_peer(call, board, error));
        }
    }

    std::shared_ptr<Meeting> meeting_;
    c10::intrusive_ptr<c10d::Backend> backend_;
    std::string name_;
    bool on_device_;
};

}  // namespace

std::shared_ptr<Work> Collectives::exchange(std::vector<Message> sends, std::vector<Message> receives) {
    std::vector<std::shared_ptr<Work>> works;
    for (Message& each : receives) works.push_back(receive(std::move(each.tensor), each.peer, each.tag));
    for (Message& each : sends) works.push_back(send(std::move(each.tensor), each.peer, each.tag));
    return std::make_shared<JointWork>(std::move(works));
}

Result<std::unique_ptr<Collectives>> Collectives::one_way(const std::string&, int, int) { return nullptr; }

std::unique_ptr<Collectives> single_rank() { return std::make_unique<SingleRank>(); }

Result<std::unique_ptr<Collectives>> make_collectives(const RankInfo& info, Seconds timeout, Accelerator* accelerator) {
    if (info.world_size == 1) return std::make_unique<SingleRank>();
    auto meeting = std::make_shared<Meeting>();
    PLIMSOLL_TRY(const auto store, connect_store(info, timeout));
    PLIMSOLL_TRY(const auto board_store, connect_store(info, timeout, /*may_serve=*/false));
    PLIMSOLL_TRY(auto address, local_address(info.master_addr, info.master_port));
    meeting->store = store;
    meeting->address = std::move(address);
    meeting->timeout = timeout;
    meeting->accelerator = accelerator;
    meeting->board = std::make_unique<WaitBoard>(board_store, info.rank, info.world_size, timeout, info.own_process);
    return Group::connect(meeting, meeting->store, info.rank, info.world_size, "");
}

}  // namespace plimsoll::engine
