// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ranks/wait_board.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace plimsoll::engine {

namespace {

constexpr auto look_every = std::chrono::milliseconds(500);
constexpr auto long_wait = std::chrono::seconds(1);

std::string key_of(int rank) { return fmt::format("waits/{}", rank); }

std::string ranks_text(const std::vector<int>& ranks) {
    return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks", fmt::join(ranks, ", "));
}

}  // namespace

WaitBoard::WaitBoard(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size)
    : store_(std::move(store)), rank_(rank), world_size_(world_size), thread_([this] { watch(); }) {}

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

void WaitBoard::tell(const std::string& text) {
    try {
        store_->set(key_of(rank_), text);
    } catch (const std::exception&) {
        // The store has ended; the run ends too, and the collective reports it.
    }
}

void WaitBoard::watch() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, look_every, [this] { return ending_; })) {
        const bool waits = !waiting_.empty() && std::chrono::steady_clock::now() - since_ > long_wait;
        if (waits == told_) continue;
        told_ = waits;
        const std::string text = waits ? waiting_ : "";
        lock.unlock();
        tell(text);
        lock.lock();
    }
}

std::string WaitBoard::read(int rank) {
    if (!store_->check({key_of(rank)})) return "";
    const auto bytes = store_->get(key_of(rank));
    return {bytes.begin(), bytes.end()};
}

std::string WaitBoard::report() {
    std::vector<std::string> waiting;
    std::vector<int> silent;
    try {
        for (int rank = 0; rank < world_size_; ++rank) {
            if (rank == rank_) continue;
            const std::string what = read(rank);
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
