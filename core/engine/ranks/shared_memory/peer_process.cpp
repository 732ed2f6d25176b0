// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/shared_memory/peer_process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/file.h"

namespace plimsoll::engine {

std::string host_identity() {
    std::array<char, 256> name{};
    std::array<char, 64> pids{};
    const bool known = ::gethostname(name.data(), name.size() - 1) == 0 &&
                       ::readlink("/proc/self/ns/pid", pids.data(), pids.size() - 1) > 0;
    const auto boot = read_file("/proc/sys/kernel/random/boot_id", 1 * KiB);
    if (!known || !boot) return "";
    return fmt::format("{} {} {}", name.data(), pids.data(), *boot);
}

Result<PeerProcess> PeerProcess::open(pid_t pid) {
    // By number: the wrapper is in glibc from 2.36 on only.
    const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
    if (fd < 0) return failed("process {} cannot be watched: {}", pid, errno_text(errno));
    return PeerProcess(Fd(fd));
}

bool PeerProcess::ended() const {
    pollfd request{handle_.get(), POLLIN, 0};
    return ::poll(&request, 1, 0) > 0;
}

}  // namespace plimsoll::engine
