// SPDX-License-Identifier: Apache-2.0
#include "app/worker/fatal_signals.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <string_view>

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

void say(std::string_view line) {
    while (!line.empty()) {
        const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
        if (n <= 0) return;
        line.remove_prefix(static_cast<std::size_t>(n));
    }
}

void on_fatal_signal(int number) {
    if (!spoken.exchange(true)) {
        for (const FatalSignal& signal : fatal_signals) {
            if (signal.number == number) say(signal.line.data());
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
    if (!spoken.exchange(true)) say(fmt::format("plimsoll-worker: rank {}: ended by: {}\n", own_rank, reason));
    std::abort();
}

}  // namespace

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
