// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/worker_process.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/file.h"
#include "core/base/output.h"
#include "core/run/processes/process.h"
#include "core/run/processes/supervisor.h"

namespace plimsoll {

namespace {

Result<void> fill(const UniqueFd& fd, const std::string& text) {
    if (const int error = write_all(fd.get(), text); error != 0) {
        return failed("cannot hand the plan to the worker: {}", errno_text(error));
    }
    ::lseek(fd.get(), 0, SEEK_SET);
    return {};
}

std::string contents(const UniqueFd& fd) {
    std::string text(static_cast<std::size_t>(std::max<off_t>(0, ::lseek(fd.get(), 0, SEEK_END))), '\0');
    std::size_t at = 0;
    while (at < text.size()) {
        const ssize_t got = ::pread(fd.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        at += static_cast<std::size_t>(got);
    }
    text.resize(at);
    return text;
}

ProcessEnd wait_for(Process& process) {
    for (;;) {
        if (const auto end = process.end()) return *end;
        pollfd ended{process.pid_fd(), POLLIN, 0};
        ::poll(&ended, process.pid_fd() < 0 ? 0 : 1, process.pid_fd() < 0 ? 10 : -1);
    }
}

/// The last line of what the worker said, without its name.
std::string last_sentence(const std::string& said) {
    std::string text = said;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    if (const auto line = text.rfind('\n'); line != std::string::npos) text.erase(0, line + 1);
    constexpr std::string_view name = "plimsoll-worker: ";
    if (text.starts_with(name)) text.erase(0, name.size());
    return text;
}

}  // namespace

Result<std::string> ask_worker(const std::vector<std::string>& arguments, const std::string& input,
                               const std::string& what, const std::filesystem::path& worker) {
    const auto program = find_worker(worker);
    if (!program) {
        return bad_input(
            "{} needs the engine, and plimsoll-worker is not there: packaging/setup fetches LibTorch, then build with "
            "-DPLIMSOLL_ENGINE=ON",
            what);
    }
    const auto in = memory_file("plan"), out = memory_file("figures"), err = memory_file("errors");
    for (const auto* each : {&in, &out, &err}) {
        if (!*each) return tl::unexpected(each->error());
    }
    PLIMSOLL_CHECK(fill(*in, input));
    ProcessOptions options;
    options.arguments = {program->string()};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    options.in = in->get();
    options.out = out->get();
    options.err = err->get();
    PLIMSOLL_TRY(auto process, Process::start(options));
    const ProcessEnd end = wait_for(process);
    if (end.good()) return contents(*out);
    const std::string sentence = last_sentence(contents(*err));
    if (end.signal != 0) return failed("{} was ended by signal {}; {}", what, end.signal, sentence);
    return tl::unexpected(Error{sentence, end.code == 2 ? Error::Kind::BadInput : Error::Kind::Failed});
}

}  // namespace plimsoll
