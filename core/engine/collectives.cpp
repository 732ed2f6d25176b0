// SPDX-License-Identifier: Apache-2.0
#include "core/engine/collectives.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/base/file.h"
#include "core/engine/accelerator.h"

namespace plimsoll::engine {

namespace {

using std::chrono::milliseconds;

milliseconds to_milliseconds(Seconds seconds) { return milliseconds(static_cast<std::int64_t>(seconds * 1000)); }

/// LibTorch's message without its C++ stack trace.
std::string first_line(const std::exception& error) {
    const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
    std::string text = torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
    if (const auto line = text.find('\n'); line != std::string::npos) text.resize(line);
    // "[../third_party/gloo/…/pair.cc:538] Connection closed": the place in the source helps nobody here.
    if (text.starts_with('[')) {
        if (const auto end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
    }
    return text;
}

/// One sentence on a failed collective: a broken connection is a rank that ended, silence is a rank that hangs.
tl::unexpected<Error> lost_peer(const char* what, Seconds timeout, const std::exception& error) {
    const std::string text = first_line(error);
    if (text.find("imed out") != std::string::npos || text.find("imeout") != std::string::npos) {
        return failed(
            "another rank did not answer within {} during the {}: it hangs or is far behind; look at the "
            "logs of the other ranks ({})",
            format_seconds(timeout), what, text);
    }
    return failed(
        "another rank ended, or the connection to it broke, during the {}; the log of the rank that ended "
        "first tells the cause ({})",
        what, text);
}

class GroupWork final : public Work {
public:
    GroupWork(c10::intrusive_ptr<c10d::Work> work, const char* what, Seconds timeout)
        : work_(std::move(work)), what_(what), timeout_(timeout) {}
    Result<void> wait() override {
        try {
            work_->wait();
            return {};
        } catch (const std::exception& error) {
            return lost_peer(what_, timeout_, error);
        }
    }

private:
    c10::intrusive_ptr<c10d::Work> work_;
    const char* what_;
    Seconds timeout_;
};

/// Work that is over already: done, or failed at its start.
class EndedWork final : public Work {
public:
    explicit EndedWork(Result<void> result = {}) : result_(std::move(result)) {}
    Result<void> wait() override { return result_; }

private:
    Result<void> result_;
};

class SingleRank final : public Collectives {
public:
    int rank() const override { return 0; }
    int world_size() const override { return 1; }
    std::shared_ptr<Work> all_reduce_sum(torch::Tensor) override { return std::make_shared<EndedWork>(); }
    Result<void> broadcast(torch::Tensor, int, Seconds) override { return {}; }
    Result<void> barrier(Seconds) override { return {}; }
};

class Group final : public Collectives {
public:
    Group(c10::intrusive_ptr<c10d::Backend> backend, Seconds timeout)
        : backend_(std::move(backend)), timeout_(timeout) {}

    int rank() const override { return backend_->getRank(); }
    int world_size() const override { return backend_->getSize(); }

    std::shared_ptr<Work> all_reduce_sum(torch::Tensor tensor) override {
        return start("all-reduce", timeout_, [&] {
            std::vector<torch::Tensor> tensors{std::move(tensor)};
            return backend_->allreduce(tensors);
        });
    }
    Result<void> broadcast(torch::Tensor tensor, int root, Seconds timeout) override {
        c10d::BroadcastOptions options;
        options.rootRank = root;
        if (timeout > 0) options.timeout = to_milliseconds(timeout);
        return start("broadcast", timeout > 0 ? timeout : timeout_,
                     [&] {
                         std::vector<torch::Tensor> tensors{std::move(tensor)};
                         return backend_->broadcast(tensors, options);
                     })
            ->wait();
    }
    Result<void> barrier(Seconds timeout) override {
        c10d::BarrierOptions options;
        if (timeout > 0) options.timeout = to_milliseconds(timeout);
        return start("barrier", timeout > 0 ? timeout : timeout_, [&] { return backend_->barrier(options); })->wait();
    }

private:
    template <class Start>
    static std::shared_ptr<Work> start(const char* what, Seconds timeout, Start&& call) {
        try {
            return std::make_shared<GroupWork>(call(), what, timeout);
        } catch (const std::exception& error) {
            return std::make_shared<EndedWork>(lost_peer(what, timeout, error));
        }
    }

    c10::intrusive_ptr<c10d::Backend> backend_;
    Seconds timeout_;
};

/// The address of this machine from which `host` is reached, so that peers can reach it too: a machine's own name
/// often means 127.0.1.1. No packet is sent.
Result<std::string> local_address(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (error != 0)
        return bad_input("MASTER_ADDR \"{}\" is not known on this machine: {}", host, ::gai_strerror(error));
    std::string address;
    for (const addrinfo* entry = found; entry != nullptr && address.empty(); entry = entry->ai_next) {
        const int fd = ::socket(entry->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0) continue;
        sockaddr_storage own{};
        socklen_t size = sizeof own;
        char text[NI_MAXHOST];
        if (::connect(fd, entry->ai_addr, entry->ai_addrlen) == 0 &&
            ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
            ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ==
                0) {
            address = text;
        }
        ::close(fd);
    }
    ::freeaddrinfo(found);
    if (address.empty()) return failed("no network of this machine leads to MASTER_ADDR {}", host);
    return address;
}

Result<c10::intrusive_ptr<c10d::Store>> connect_store(const RankInfo& info, Seconds timeout) {
    try {
        c10d::TCPStoreOptions options;
        options.port = static_cast<std::uint16_t>(info.master_port);
        options.isServer = info.rank0_serves_store && info.rank == 0;
        options.waitWorkers = false;
        options.timeout = to_milliseconds(timeout);
        c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::TCPStore>(info.master_addr, options);
        return c10::make_intrusive<c10d::PrefixStore>(fmt::format("plimsoll/{}", info.attempt), store);
    } catch (const std::exception& error) {
        return failed(
            "cannot reach the store at {}:{} within {}: check MASTER_ADDR and MASTER_PORT, and that "
            "plimsoll-worker --store (or torchrun) runs there ({})",
            info.master_addr, info.master_port, format_seconds(timeout), first_line(error));
    }
}

c10::intrusive_ptr<c10d::Backend> make_gloo(const c10::intrusive_ptr<c10d::Store>& store, const RankInfo& info,
                                            const std::string& address, Seconds timeout) {
    auto options = c10d::ProcessGroupGloo::Options::create(to_milliseconds(timeout));
    const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
    options->devices.push_back(interface != nullptr && *interface != '\0'
                                   ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
                                   : c10d::ProcessGroupGloo::createDeviceForHostname(address));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, info.rank, info.world_size, options);
}

/// A listening socket at exactly that address: TCPStore's own would listen on every network of the machine.
Result<int> listen_at(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); error != 0) {
        return bad_input("--host \"{}\" is not known on this machine: {}", host, ::gai_strerror(error));
    }
    const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    const bool listens = fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                         ::bind(fd, found->ai_addr, found->ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0;
    const int error = errno;
    ::freeaddrinfo(found);
    if (listens) return fd;
    if (fd >= 0) ::close(fd);
    return bad_input("cannot listen at {} port {}: {}; choose another --port (0 takes any free one)", host, port,
                     errno_text(error));
}

Result<int> port_of(int fd) {
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) != 0) {
        return failed("cannot tell the port of the store: {}", errno_text(errno));
    }
    return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(own).sin_port);
}

void wait_until_stdin_closes() {
    char buffer[256];
    for (;;) {
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n == 0 || (n < 0 && errno != EINTR)) return;
    }
}

}  // namespace

Result<std::unique_ptr<Collectives>> make_collectives(const RankInfo& info, Seconds timeout, Accelerator* accelerator) {
    if (info.world_size == 1) return std::make_unique<SingleRank>();
    const auto store = connect_store(info, timeout);
    if (!store) return tl::unexpected(store.error());
    const auto address = local_address(info.master_addr, info.master_port);
    if (!address) return tl::unexpected(address.error());
    try {
        auto backend = accelerator != nullptr ? accelerator->make_backend(*store, info.rank, info.world_size, timeout)
                                              : make_gloo(*store, info, *address, timeout);
        return std::make_unique<Group>(std::move(backend), timeout);
    } catch (const std::exception& error) {
        return failed(
            "the {} ranks could not connect to one another within {} ({}); check that all of them were "
            "started and, over several machines, that GLOO_SOCKET_IFNAME (NCCL_SOCKET_IFNAME) names a "
            "network they share",
            info.world_size, format_seconds(timeout), first_line(error));
    }
}

Result<void> serve_store(int port, const std::string& host) {
    const auto fd = listen_at(host, port);
    if (!fd) return tl::unexpected(fd.error());
    const auto bound = port_of(*fd);
    if (!bound) return tl::unexpected(bound.error());
    try {
        c10d::TCPStoreOptions options;
        options.port = static_cast<std::uint16_t>(*bound);
        options.isServer = true;
        options.waitWorkers = false;
        options.masterListenFd = *fd;
        c10d::TCPStore store(host, options);
        fmt::print("{}\n", *bound);
        std::fflush(stdout);
        wait_until_stdin_closes();
        return {};
    } catch (const std::exception& error) {
        return failed("the store cannot be served at {} port {}: {}", host, *bound, first_line(error));
    }
}

}  // namespace plimsoll::engine
