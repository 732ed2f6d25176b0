// SPDX-License-Identifier: Apache-2.0
#include "core/base/output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/base/write_error.h"

namespace plimsoll {

namespace {

int first_error = 0;  ///< of standard output

void remember(int error) noexcept {
    if (first_error == 0) first_error = error;
}

std::filesystem::path path_of(int fd) {
    std::error_code error;
    const auto path = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), error);
    return error || !path.is_absolute() ? std::filesystem::path() : path;
}

}  // namespace

void prepare_output() {
    ::signal(SIGPIPE, SIG_IGN);
    ::signal(SIGXFSZ, SIG_IGN);
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
        // Output to a descriptor for reading fails, as it does to a closed one.
        const int opened = ::open("/dev/null", O_RDONLY);
        if (opened >= 0 && opened != fd) {
            ::dup2(opened, fd);
            ::close(opened);
        }
    }
}

int write_all(int fd, std::string_view text) noexcept {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n >= 0) {
            text.remove_prefix(static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            pollfd room{fd, POLLOUT, 0};
            ::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

void print(std::string_view text) noexcept {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) remember(errno);
}

bool flush_output() noexcept {
    if (std::fflush(stdout) != 0) remember(errno);
    // Others write to the stream as well (CLI11's help through std::cout) and look at no error.
    if (std::ferror(stdout) != 0) remember(EIO);
    return first_error == 0;
}

Result<void> finish_output() {
    if (flush_output() || first_error == EPIPE) return {};
    if (first_error == EBADF) return failed("the output is not whole: standard output is closed");
    const auto path = path_of(STDOUT_FILENO);
    if (!path.empty()) return failed("the output is not whole: {}", write_error(path, first_error));
    return failed("the output is not whole: cannot write to standard output: {}",
                  std::generic_category().message(first_error));
}

void print_error(std::string_view text) noexcept { static_cast<void>(write_all(STDERR_FILENO, text)); }

std::string name_of_stream(int fd) {
    const std::string name = fd == STDERR_FILENO ? "standard error" : "standard output";
    const auto path = path_of(fd);
    return path.empty() ? name : fmt::format("{} ({})", name, path.string());
}

}  // namespace plimsoll
