// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "core/base/file.h"
#include "core/base/write_error.h"
#include "core/telemetry/contract/own_files.h"

namespace plimsoll {

namespace {

/// Everything the child needs is made before fork: in a program with threads only async-signal-safe calls may follow.
struct ExecImage {
    std::vector<std::string> strings;
    std::vector<char*> arguments;
    std::vector<char*> environment;

    explicit ExecImage(const ProcessOptions& options) {
        std::map<std::string, std::string> variables;
        for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
            const char* equals = std::strchr(*entry, '=');
            if (equals != nullptr) variables[{*entry, static_cast<std::size_t>(equals - *entry)}] = equals + 1;
        }
        for (const auto& [name, value] : options.environment) variables[name] = value;
        strings = options.arguments;
        for (const auto& [name, value] : variables) strings.push_back(name + "=" + value);
        for (std::size_t i = 0; i < strings.size(); ++i) {
            (i < options.arguments.size() ? arguments : environment).push_back(strings[i].data());
        }
        arguments.push_back(nullptr);
        environment.push_back(nullptr);
    }
};

[[noreturn]] void give_up(int report) {
    const int error = errno;
    [[maybe_unused]] const ssize_t n = ::write(report, &error, sizeof error);
    ::_exit(127);
}

/// Runs in the child: descriptors to 0, 1, 2 and extra_fd (copied high first, so that none is overwritten before it is
/// used).
void set_descriptors(const ProcessOptions& options, int null, int report) {
    int wanted[extra_fd + 1] = {options.in, options.out, options.err, options.extra};
    for (int& fd : wanted) {
        fd = ::fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, 10);
        if (fd < 0) give_up(report);
    }
    for (int i = 0; i <= (options.extra < 0 ? STDERR_FILENO : extra_fd); ++i) {
        if (::dup2(wanted[i], i) < 0) give_up(report);
    }
}

[[noreturn]] void exec_child(const ProcessOptions& options, const ExecImage& image, int null, int report,
                             pid_t parent) {
    if (options.own_session) {
        if (::setsid() < 0) give_up(report);
        const pid_t again = ::fork();
        if (again < 0) give_up(report);
        if (again > 0) ::_exit(0);
    } else {
        ::setpgid(0, 0);
        if (options.dies_with_parent) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::_exit(127);  // it died before the line above
        }
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGQUIT, SIGXFSZ}) ::signal(number, SIG_DFL);
    // The report is moved out of the way of the descriptors that the child gets.
    report = ::fcntl(report, F_DUPFD_CLOEXEC, 20);
    if (report < 0) ::_exit(127);
    set_descriptors(options, null, report);
    const unsigned first = options.extra < 0 ? extra_fd : extra_fd + 1;
    ::syscall(SYS_close_range, first, ~0U, 4U);  // 4: CLOSE_RANGE_CLOEXEC; nothing of the parent leaks into the child
    ::execve(image.arguments[0], image.arguments.data(), image.environment.data());
    give_up(report);
}

}  // namespace

void UniqueFd::reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
}

Result<UniqueFd> memory_file(const char* name) {
    UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
    if (fd.get() < 0) return failed("cannot make a buffer in memory: {}", errno_text(errno));
    return fd;
}

Result<LogFile> LogFile::open(const std::filesystem::path& path) {
    LogFile log;
    PLIMSOLL_TRY(auto opened, open_own(path, O_WRONLY | O_CREAT | O_APPEND));
    log.fd = UniqueFd(opened.release());
    struct stat info {};
    if (::fstat(log.fd.get(), &info) != 0) return bad_input("{}", write_error(path, errno));
    log.size = static_cast<std::uint64_t>(info.st_size);
    return log;
}

Result<Process> Process::start(const ProcessOptions& options) {
    const ExecImage image(options);
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return failed("cannot start {}: {}", options.arguments[0], errno_text(errno));
    const UniqueFd report(pipe[0]);
    UniqueFd report_end(pipe[1]);
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (null.get() < 0) return failed("cannot open /dev/null: {}", errno_text(errno));

    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid < 0) return failed("cannot start {}: {}", options.arguments[0], errno_text(errno));
    if (pid == 0) exec_child(options, image, null.get(), report_end.get(), parent);
    report_end.reset();

    // The pipe closes at exec: end of file means that the program runs.
    int error = 0;
    ssize_t n = 0;
    do {
        n = ::read(report.get(), &error, sizeof error);
    } while (n < 0 && errno == EINTR);
    Process process;
    if (n > 0 || options.own_session) {
        int status = 0;
        while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
        }
        if (n > 0) return failed("cannot start {}: {}", options.arguments[0], errno_text(error));
        return process;
    }
    process.pid_ = pid;
    process.pid_fd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
    return process;
}

Process& Process::operator=(Process&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(pid_fd_, other.pid_fd_);
    std::swap(end_, other.end_);
    return *this;
}

Process::~Process() { kill_and_wait(); }

std::optional<ProcessEnd> Process::end() { return reap(WNOHANG); }

std::optional<ProcessEnd> Process::reap(int flags) {
    if (end_ || pid_ <= 0) return end_;
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags) != 0) {
        if (errno == EINTR) return std::nullopt;
        // ECHILD: somebody else of this program reaped it; that it is gone is all that is known.
        end_ = ProcessEnd{.code = 1, .signal = 0};
        return end_;
    }
    if (info.si_pid == 0) return std::nullopt;
    // What it left behind in its group goes now: until it is reaped its number cannot be another's.
    ::kill(-pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    end_ = WIFSIGNALED(status) ? ProcessEnd{.code = 0, .signal = WTERMSIG(status)}
                               : ProcessEnd{.code = WEXITSTATUS(status), .signal = 0};
    return end_;
}

void Process::signal(int number) const {
    if (pid_ > 0 && !end_) ::kill(-pid_, number);
}

void Process::kill_and_wait() {
    if (pid_ <= 0 || end_) return;
    ::kill(-pid_, SIGKILL);
    while (!reap(0)) {
    }
}

}  // namespace plimsoll
