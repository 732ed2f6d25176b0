// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/wait_board.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace plimsoll::engine {

namespace {

constexpr Seconds look_every = 0.5;
constexpr Seconds pulse_at_most_every = 10;
constexpr double pulses_a_timeout = 10;
constexpr auto long_wait = std::chrono::seconds(1);

std::string wait_key(int rank) { return fmt::format("waits/{}", rank); }
std::string pulse_key(int rank) { return fmt::format("pulse/{}", rank); }

double cpu_seconds(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::string ranks_text(const std::vector<int>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

WaitBoard::WaitBoard(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size, Seconds timeout, bool own_process)
    : store_(std::move(store)),
      rank_(rank),
      world_size_(world_size),
      own_process_(own_process),
      pulse_every_(std::min(timeout / pulses_a_timeout, pulse_at_most_every)),
      look_every_(static_cast<std::int64_t>(1000 * std::clamp(pulse_every_, 0.01, look_every))),
      thread_([this] { look_around(); }) {}

WaitBoard::~WaitBoard() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    wake_.notify_all();
    thread_.join();
}

void WaitBoard::enter(std::string what) {
    const std::lock_guard lock(mutex_);
    waiting_ = std::move(what);
    since_ = std::chrono::steady_clock::now();
}

void WaitBoard::leave() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count();
}

double WaitBoard::waited_seconds() const {
    const std::lock_guard lock(mutex_);
    return waited_;
}

void WaitBoard::tell(const std::string& key, const std::string& text) {
    try {
        store_->set(key, text);
    } catch (const std::exception&) {
        // The store has ended; the run ends too, and the collective reports it.
    }
}

void WaitBoard::look_around() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, look_every_, [this] { return ending_; })) {
        const bool waits = !waiting_.empty() && std::chrono::steady_clock::now() - since_ > long_wait;
        const bool news = waits != told_;
        told_ = waits;
        const std::string text = waits ? waiting_ : "";
        std::erase_if(watches_, [](const std::shared_ptr<Watch>& each) { return each->over.load(); });
        auto watches = watches_;
        lock.unlock();
        if (news) tell(wait_key(rank_), text);
        tell_pulse();
        ask_deadlines(std::move(watches));
        lock.lock();
    }
}

/// Without what this thread uses: a rank that hangs still has it.
void WaitBoard::tell_pulse() {
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - pulse_told_).count() < pulse_every_) return;
    pulse_told_ = now;
    const double used = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    tell(pulse_key(rank_), fmt::format("{:.6f}", used));
}

void WaitBoard::ask_deadlines(std::vector<std::shared_ptr<Watch>> watches) {
    for (const auto& watch : watches) watch->ask();
}

void WaitBoard::Watch::end() {
    const std::lock_guard lock(ending);
    over = true;
    give_up = nullptr;
}

void WaitBoard::Watch::ask() {
    if (over || given_up || !deadline.passed()) return;
    const std::lock_guard lock(ending);
    if (over) return;
    given_up = true;
    give_up();
}

std::shared_ptr<WaitBoard::Watch> WaitBoard::watch(Patience patience, std::function<void()> give_up) {
    auto watch = std::make_shared<Watch>();
    watch->patience = std::move(patience);
    watch->give_up = std::move(give_up);
    const std::lock_guard lock(mutex_);
    watches_.push_back(watch);
    return watch;
}

std::string WaitBoard::read(const std::string& key) {
    if (!store_->check({key})) return "";
    const auto bytes = store_->get(key);
    return {bytes.begin(), bytes.end()};
}

Pulses WaitBoard::pulses() {
    Pulses all;
    try {
        for (int rank = 0; rank < world_size_; ++rank) {
            if (rank != rank_) all.push_back(std::strtod(read(pulse_key(rank)).c_str(), nullptr));
        }
    } catch (const std::exception&) {
        return {};
    }
    return all;
}

Patience patience_on(WaitBoard* board, Seconds limit) {
    if (board == nullptr || !board->own_process()) return {limit, {}};
    return {limit, [board] { return board->pulses(); }};
}

std::string WaitBoard::report() {
    std::vector<std::string> waiting;
    std::vector<int> silent;
    try {
        for (int rank = 0; rank < world_size_; ++rank) {
            if (rank == rank_) continue;
            const std::string what = read(wait_key(rank));
            if (what.empty()) {
                silent.push_back(rank);
            } else {
                waiting.push_back(fmt::format("rank {} waits in the {}", rank, what));
            }
        }
    } catch (const std::exception&) {
        return "";
    }
    if (!silent.empty()) {
        waiting.push_back(
            fmt::format("{} wait{} for nothing, so {} or hang{}", ranks_text(silent), silent.size() == 1 ? "s" : "",
                        silent.size() == 1 ? "it has ended, is far behind" : "they have ended, are far behind",
                        silent.size() == 1 ? "s" : ""));
    }
    return fmt::format("{}", fmt::join(waiting, "; "));
}

}  // namespace plimsoll::engine
