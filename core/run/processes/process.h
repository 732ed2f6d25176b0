// SPDX-License-Identifier: Apache-2.0
// Child processes: started in a group of their own, dying with their parent, ended as a group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/base/units.h"

namespace plimsoll {

/// Owns a file descriptor.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~UniqueFd() { reset(); }
    int get() const { return fd_; }
    void reset();

private:
    int fd_ = -1;
};

/// Number under which a child finds ProcessOptions::extra.
inline constexpr int extra_fd = 3;

struct ProcessOptions {
    std::vector<std::string> arguments;                            ///< the program's path first
    std::vector<std::pair<std::string, std::string>> environment;  ///< over the parent's
    int in = -1, out = -1, err = -1;                               ///< descriptors for the child; -1: /dev/null
    int extra = -1;                                                ///< the child's descriptor extra_fd; -1: none
    bool dies_with_parent = true;  ///< SIGKILL when the thread that started the process ends
    bool own_session = false;  ///< setsid() and a second fork: the process outlives the parent and is nobody's zombie
};

/// Anonymous memory behind a descriptor: no pipe to fill up, no file to clean up, no disk that could be full.
Result<UniqueFd> memory_file(const char* name);

/// A file that output is appended to.
struct LogFile {
    UniqueFd fd;
    std::uint64_t size = 0;  ///< at opening: bytes behind it are new
    static Result<LogFile> open(const std::filesystem::path& path);
};

/// How a process ended.
struct ProcessEnd {
    int code = 0;
    int signal = 0;  ///< 0: the process ended by itself, with `code`
    bool good() const { return signal == 0 && code == 0; }
};

class Process {
public:
    /// Error when the program cannot be executed. pid() of a process with own_session is 0: the parent does not control
    /// it.
    static Result<Process> start(const ProcessOptions& options);

    Process(Process&& other) noexcept { *this = std::move(other); }
    Process& operator=(Process&& other) noexcept;
    ~Process();  ///< kills the group and waits for it

    pid_t pid() const { return pid_; }
    /// Readable once the process has ended (for poll); -1 where the kernel lacks pidfd_open.
    int pid_fd() const { return pid_fd_.get(); }
    /// Reaps the process when it has ended, and kills the processes that it left behind in its group.
    std::optional<ProcessEnd> end();
    /// Sends the signal to the whole group, so that the process's own children get it as well.
    void signal(int number) const;
    void kill_and_wait();

private:
    Process() = default;
    std::optional<ProcessEnd> reap(int flags);

    pid_t pid_ = 0;
    UniqueFd pid_fd_;
    std::optional<ProcessEnd> end_;
};

}  // namespace plimsoll
