// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/store_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "core/base/file.h"
#include "core/run/processes/last_words.h"

namespace plimsoll {

namespace {

struct Pipe {
    UniqueFd read, write;
};

Result<Pipe> make_pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return failed("cannot make a pipe: {}", errno_text(errno));
    return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace

Result<StoreProcess> StoreProcess::start(const std::filesystem::path& worker, const std::filesystem::path& log_path) {
    auto in = make_pipe();
    if (!in) return tl::unexpected(in.error());
    auto out = make_pipe();
    if (!out) return tl::unexpected(out.error());
    PLIMSOLL_TRY(const auto log, LogFile::open(log_path));

    ProcessOptions options;
    options.arguments = {worker.string(), "--store"};
    options.in = in->read.get();
    options.out = out->write.get();
    options.err = log.fd.get();
    PLIMSOLL_TRY(auto process, Process::start(options));
    return StoreProcess(std::move(process), std::move(in->write), std::move(out->read), log_path, log.size);
}

Result<int> StoreProcess::port(int wait_ms, Seconds timeout) {
    pollfd ready{out_.get(), POLLIN, 0};
    if (::poll(&ready, 1, wait_ms) > 0) {
        char buffer[256];
        const ssize_t n = ::read(out_.get(), buffer, sizeof buffer);
        if (n <= 0 || line_.size() > 4096) return failed("{}", obituary());
        line_.append(buffer, static_cast<std::size_t>(n));
    }
    if (line_.find('\n') == std::string::npos) {
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - started_;
        if (waited.count() < timeout) return 0;
        return failed("the store (plimsoll-worker --store) gave no port within {:g} s; the machine may be overloaded",
                      timeout);
    }
    int port = 0;
    const auto [end, error] = std::from_chars(line_.data(), line_.data() + line_.size(), port);
    if (error != std::errc() || port <= 0 || port > 65535) return failed("{}", obituary());
    return port;
}

std::string StoreProcess::obituary() {
    process_.kill_and_wait();
    const std::string words = last_words(log_, log_from_);
    return fmt::format("the store that the ranks meet at (plimsoll-worker --store) ended; {}",
                       words.empty() ? "it left no last words" : "its last words: " + words);
}

}  // namespace plimsoll
