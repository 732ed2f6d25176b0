// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/rendezvous.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "core/base/file.h"
#include "core/base/output.h"
#include "core/engine/ranks/sealed_store.h"

namespace plimsoll::engine {

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

namespace {

/// A listening socket at exactly that address: TCPStore's own socket would listen on every network of the machine.
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

/// Sixth number of /proc/self/statm: data and stack, in pages.
long data_pages() {
    std::ifstream statm("/proc/self/statm");
    long pages = 0;
    for (int i = 0; i < 6; ++i) statm >> pages;
    return statm ? pages : 0;
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

/// What strangers write stays in memory until the store ends: the store ends instead of the machine.
void bound_memory() {
    constexpr rlim_t room = 512 << 20;
    rlimit limit{};
    if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
    const auto used = static_cast<rlim_t>(data_pages()) * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    limit.rlim_cur = std::min(limit.rlim_max, used + room);
    ::setrlimit(RLIMIT_DATA, &limit);
}

void wait_until_stdin_closes() {
    char buffer[256];
    for (;;) {
        const ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
        if (n == 0 || (n < 0 && errno != EINTR)) return;
    }
}

}  // namespace

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

Result<c10::intrusive_ptr<c10d::Store>> connect_store(const RankInfo& info, Seconds timeout, bool may_serve) {
    if (info.secret.empty()) return bad_input("the ranks have no secret to know one another by: set PLIMSOLL_SECRET");
    try {
        c10d::TCPStoreOptions options;
        options.port = static_cast<std::uint16_t>(info.master_port);
        options.isServer = may_serve && info.rank0_serves_store && info.rank == 0;
        options.waitWorkers = false;
        options.timeout = to_milliseconds(timeout);
        c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<SealedStore>(
            c10::make_intrusive<c10d::TCPStore>(info.master_addr, options), info.secret);
        return c10::make_intrusive<c10d::PrefixStore>(fmt::format("plimsoll/{}", info.attempt), store);
    } catch (const std::exception& error) {
        return failed(
            "cannot reach the store at {}:{} within {}: check MASTER_ADDR and MASTER_PORT, and that "
            "plimsoll-worker --store (or torchrun) runs there ({})",
            info.master_addr, info.master_port, format_seconds(timeout), first_line(error));
    }
}

Result<void> serve_store(int port, const std::string& host) {
    PLIMSOLL_TRY(const auto fd, listen_at(host, port));
    PLIMSOLL_TRY(const auto bound, port_of(fd));
    try {
        c10d::TCPStoreOptions options;
        options.port = static_cast<std::uint16_t>(bound);
        options.isServer = true;
        options.waitWorkers = false;
        options.masterListenFd = fd;
        c10d::TCPStore store(host, options);
        bound_memory();
        print(fmt::format("{}\n", bound));
        PLIMSOLL_CHECK(finish_output());
        wait_until_stdin_closes();
        return {};
    } catch (const std::exception& error) {
        return failed("the store cannot be served at {} port {}: {}", host, bound, first_line(error));
    }
}

}  // namespace plimsoll::engine
