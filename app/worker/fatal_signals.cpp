// SPDX-License-Identifier: Apache-2.0
#include "app/worker/fatal_signals.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "core/base/output.h"
#include "core/telemetry/contract/last_words_channel.h"

namespace plimsoll::worker {

namespace {

struct FatalSignal {
    int number;
    const char* name;
    std::array<char, 256> line{};  ///< written in advance, since a signal handler may not allocate
};

std::array<FatalSignal, 5> fatal_signals{{{SIGSEGV, "segmentation fault"},
                                          {SIGBUS, "bus error"},
                                          {SIGFPE, "arithmetic fault"},
                                          {SIGILL, "illegal instruction"},
                                          {SIGABRT, "abort"}}};
std::atomic<bool> spoken{false};
int own_rank = 0;
alignas(16) std::array<char, 64 * 1024> signal_stack;  ///< a stack of its own, since the usual one may have overflowed

int channel = -1;  ///< to the supervisor; -1: none

void on_fatal_signal(int number) {
    if (!spoken.exchange(true)) {
        for (const FatalSignal& signal : fatal_signals) {
            if (signal.number == number) say_last_words(signal.line.data());
        }
    }
    std::signal(number, SIG_DFL);
    ::raise(number);
}

[[noreturn]] void on_terminate() {
    std::string reason = "an uncaught error";
    try {
        if (const auto error = std::current_exception()) std::rethrow_exception(error);
    } catch (const std::exception& error) {
        reason = error.what();
        if (const auto line = reason.find('\n'); line != std::string::npos) reason.resize(line);
    } catch (...) {
    }
    if (!spoken.exchange(true)) {
        say_last_words(fmt::format("plimsoll-worker: rank {}: ended by: {}\n", own_rank, reason));
    }
    std::abort();
}

}  // namespace

void say_last_words(std::string_view line) noexcept {
    print_error(line);
    if (channel >= 0) static_cast<void>(write_all(channel, line));
}

void open_last_words() {
    const char* number = std::getenv(last_words_variable);
    if (number == nullptr) return;
    channel = std::atoi(number);
    // Whatever this process starts must not speak for it.
    if (channel <= STDERR_FILENO || ::fcntl(channel, F_SETFD, FD_CLOEXEC) != 0) channel = -1;
}

void install_last_words(int rank) {
    own_rank = rank;
    stack_t stack{};
    stack.ss_sp = signal_stack.data();
    stack.ss_size = signal_stack.size();
    ::sigaltstack(&stack, nullptr);
    for (FatalSignal& signal : fatal_signals) {
        const auto end = fmt::format_to_n(signal.line.data(), signal.line.size() - 1,
                                          "plimsoll-worker: rank {}: crashed ({}, signal {}); please report this, and "
                                          "resume from the last checkpoint\n",
                                          rank, signal.name, signal.number);
        *end.out = '\0';
        struct sigaction action {};
        action.sa_handler = &on_fatal_signal;
        action.sa_flags = SA_ONSTACK;
        ::sigaction(signal.number, &action, nullptr);
    }
    std::set_terminate(&on_terminate);
}

}  // namespace plimsoll::worker
