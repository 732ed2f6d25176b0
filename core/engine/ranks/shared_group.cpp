// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_group.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>

#include "core/engine/base/call_queue.h"
#include "core/engine/ranks/group_call.h"
#include "core/engine/ranks/shared_memory/shared_collectives.h"

namespace plimsoll::engine {

namespace {

/// The ranks' channel and its thread. After a failed call the ranks are at different places, so all later calls fail in
/// the same way. Pending work keeps the link alive.
struct Link {
    explicit Link(std::unique_ptr<SharedChannel> ranks) : channel(std::move(ranks)) {}

    std::unique_ptr<SharedChannel> channel;
    Met met = Met::All;  ///< outcome of the calls so far; only the queue's calls touch it
    CallQueue queue;     ///< destroyed before the channel
};

class SharedWork final : public Work {
public:
    using Run = std::function<Met(SharedChannel&, const Patience&)>;

    SharedWork(std::shared_ptr<Link> link, GroupCall call, WaitBoard* board, Run run)
        : link_(std::move(link)), call_(std::move(call)), board_(board), met_(std::make_shared<Met>(Met::All)) {
        number_ = link_->queue.add(
            [link = link_.get(), met = met_, patience = patience_on(board, call_.timeout), run = std::move(run)] {
                if (link->met == Met::All) link->met = run(*link->channel, patience);
                *met = link->met;
            });
    }

    Result<void> wait() override {
        const WaitScope scope(board_, board_ != nullptr ? call_.text() : "");
        link_->queue.wait_for(number_);
        switch (*met_) {
            case Met::Silent:
                return silent_peer(call_, board_, "timed out in shared memory");
            case Met::Ended:
                return ended_peer(call_, board_, "its process has ended, or has left the group");
            case Met::Unlike:
                return not_possible(call_, "another rank of the group makes another call");
            case Met::All:
                break;
        }
        return {};
    }

private:
    std::shared_ptr<Link> link_;
    GroupCall call_;
    WaitBoard* board_;
    std::shared_ptr<Met> met_;
    std::uint64_t number_ = 0;
};

class SharedGroup final : public Collectives {
public:
    SharedGroup(std::unique_ptr<Collectives> group, std::shared_ptr<Link> link, const GroupMeeting& meeting)
        : group_(std::move(group)),
          link_(std::move(link)),
          name_(meeting.name),
          timeout_(meeting.timeout),
          board_(meeting.board) {}

    int rank() const override { return group_->rank(); }
    int world_size() const override { return group_->world_size(); }
    Seconds waited() const override { return group_->waited(); }

    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        if (!fits(tensor) || !can_reduce(tensor.scalar_type())) return group_->all_reduce_sum(std::move(tensor));
        return all_reduce(Reduction::Sum, tensor);
    }
    std::shared_ptr<Work> all_reduce_max(torch::Tensor tensor) override {
        if (!fits(tensor) || !can_reduce(tensor.scalar_type())) return group_->all_reduce_max(std::move(tensor));
        return all_reduce(Reduction::Max, tensor);
    }
    std::shared_ptr<Work> all_gather(torch::Tensor output, torch::Tensor input) override {
        if (!fits(output, input)) return group_->all_gather(std::move(output), std::move(input));
        return start("all-gather", input, timeout_, [=](SharedChannel& channel, const Patience& patience) {
            return shared_all_gather(channel, output, input, patience);
        });
    }
    std::shared_ptr<Work> reduce_scatter_sum(torch::Tensor output, torch::Tensor input) override {
        if (!fits(input, output) || !can_reduce(input.scalar_type())) {
            return group_->reduce_scatter_sum(std::move(output), std::move(input));
        }
        return start("reduce-scatter", input, timeout_, [=](SharedChannel& channel, const Patience& patience) {
            return shared_reduce_scatter(channel, output, input, patience);
        });
    }
    Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) override {
        if (!fits(tensor)) return group_->broadcast(std::move(tensor), root, timeout);
        const auto run = [=](SharedChannel& channel, const Patience& patience) {
            return shared_broadcast(channel, tensor, root, patience);
        };
        return start("broadcast", tensor, timeout > 0 ? timeout : timeout_, run)->wait();
    }

    std::shared_ptr<Work> all_to_all(torch::Tensor output, torch::Tensor input, std::vector<std::int64_t> output_rows,
                                     std::vector<std::int64_t> input_rows) override {
        return group_->all_to_all(std::move(output), std::move(input), std::move(output_rows), std::move(input_rows));
    }
    std::shared_ptr<Work> send(torch::Tensor tensor, int peer, int tag) override {
        return group_->send(std::move(tensor), peer, tag);
    }
    std::shared_ptr<Work> receive(torch::Tensor tensor, int peer, int tag) override {
        return group_->receive(std::move(tensor), peer, tag);
    }
    Result<void> barrier(Seconds timeout) override { return group_->barrier(timeout); }
    Result<std::unique_ptr<Collectives>> subgroup(const std::string& name, const std::vector<int>& members) override {
        return group_->subgroup(name, members);
    }

private:
    static bool fits(const torch::Tensor& tensor) { return tensor.is_cpu() && tensor.is_contiguous(); }
    /// Whether `whole` has a part of the size of `part` for each rank; otherwise Gloo makes the call, and its complaint
    /// is reported.
    bool fits(const torch::Tensor& whole, const torch::Tensor& part) const {
        return fits(whole) && fits(part) && whole.scalar_type() == part.scalar_type() &&
               whole.numel() == part.numel() * world_size();
    }

    std::shared_ptr<Work> all_reduce(Reduction reduction, const torch::Tensor& tensor) {
        return start("all-reduce", tensor, timeout_, [=](SharedChannel& channel, const Patience& patience) {
            return shared_all_reduce(channel, reduction, tensor, patience);
        });
    }
    std::shared_ptr<Work> start(const char* what, const torch::Tensor& tensor, Seconds timeout, SharedWork::Run run) {
        return std::make_shared<SharedWork>(link_, GroupCall{what, tensor_text(tensor), name_, timeout}, board_,
                                            std::move(run));
    }

    std::unique_ptr<Collectives> group_;
    std::shared_ptr<Link> link_;
    std::string name_;
    Seconds timeout_;
    WaitBoard* board_;
};

std::string get(c10d::Store& store, const std::string& key) {
    const auto bytes = store.get(key);
    return {bytes.begin(), bytes.end()};
}

/// Tells every rank of the group `own`, and gives the texts of all ranks.
std::vector<std::string> exchange(c10d::Store& store, const std::string& topic, int rank, int world_size,
                                  const std::string& own) {
    store.set(fmt::format("shared/{}/{}", topic, rank), own);
    std::vector<std::string> all;
    for (int each = 0; each < world_size; ++each) all.push_back(get(store, fmt::format("shared/{}/{}", topic, each)));
    return all;
}

bool switched_off() {
    const char* setting = std::getenv("PLIMSOLL_SHARED_MEMORY");
    return setting != nullptr && std::string_view(setting) == "0";
}

pid_t pid_of(const std::string& text) { return static_cast<pid_t>(std::strtol(text.c_str(), nullptr, 10)); }

std::optional<std::vector<PeerProcess>> open_peers(const std::vector<std::string>& pids) {
    std::vector<PeerProcess> peers;
    for (const std::string& pid : pids) {
        auto peer = PeerProcess::open(pid_of(pid));
        if (!peer) return std::nullopt;
        peers.push_back(std::move(*peer));
    }
    return peers;
}

/// Null on all ranks when some rank cannot share memory.
std::unique_ptr<SharedChannel> make_channel(c10d::Store& store, int rank, int world_size) {
    const auto hosts = exchange(store, "host", rank, world_size, switched_off() ? "" : host_identity());
    for (const std::string& host : hosts) {
        if (host.empty() || host != hosts.front()) return nullptr;
    }
    const auto pids = exchange(store, "pid", rank, world_size, fmt::format("{}", ::getpid()));
    const std::size_t bytes = SharedChannel::bytes_for(world_size);
    std::optional<SharedMemory> memory;
    if (rank == 0) {
        if (auto made = SharedMemory::create(bytes)) memory.emplace(std::move(*made));
        store.set("shared/address", memory ? memory->address() : "none");
    } else if (auto opened = SharedMemory::open(get(store, "shared/address"), pid_of(pids.front()), bytes)) {
        memory.emplace(std::move(*opened));
    }
    auto peers = open_peers(pids);
    const auto mapped = exchange(store, "mapped", rank, world_size, memory && peers ? "yes" : "no");
    for (const std::string& each : mapped) {
        if (each != "yes") return nullptr;
    }
    memory->close_address();
    return std::make_unique<SharedChannel>(std::move(*memory), std::move(*peers), rank);
}

}  // namespace

std::unique_ptr<Collectives> with_shared_memory(std::unique_ptr<Collectives> group, const GroupMeeting& meeting) {
    auto channel = make_channel(meeting.store, group->rank(), group->world_size());
    if (channel == nullptr) return group;
    return std::make_unique<SharedGroup>(std::move(group), std::make_shared<Link>(std::move(channel)), meeting);
}

}  // namespace plimsoll::engine
