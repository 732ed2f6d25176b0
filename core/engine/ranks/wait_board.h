// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: each rank writes to the store what it waits for, so that a silent rank can be named.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace plimsoll::engine {

/// A thread looks twice a second. A wait of more than a second is written to the store under this rank's number and is
/// removed when the wait is over. A short wait costs a lock.
class WaitBoard {
public:
    /// The store must be a client of its own: a blocked one would silence the board.
    WaitBoard(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size);
    ~WaitBoard();
    WaitBoard(const WaitBoard&) = delete;
    WaitBoard& operator=(const WaitBoard&) = delete;

    /// `what` as in "all-reduce of Float [5] in the data group".
    void enter(std::string what);
    void leave();
    /// How long this rank has waited so far, all in all.
    double waited_seconds() const;

    /// One clause on all ranks, read from the store: "rank 1 waits in …; ranks 2 and 3 wait for nothing: they hang,
    /// have ended or are far behind". Empty when the store is out of reach.
    std::string report();

private:
    void watch();
    void tell(const std::string& text);
    std::string read(int rank);

    c10::intrusive_ptr<c10d::Store> store_;
    int rank_, world_size_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::string waiting_;  ///< empty: for nothing
    std::chrono::steady_clock::time_point since_;
    double waited_ = 0;  ///< seconds
    bool told_ = false;
    bool ending_ = false;
    std::thread thread_;
};

/// Waiting for the duration of a scope. A null board is none.
class WaitScope {
public:
    WaitScope(WaitBoard* board, std::string what) : board_(board) {
        if (board_ != nullptr) board_->enter(std::move(what));
    }
    ~WaitScope() {
        if (board_ != nullptr) board_->leave();
    }
    WaitScope(const WaitScope&) = delete;
    WaitScope& operator=(const WaitScope&) = delete;

private:
    WaitBoard* board_;
};

}  // namespace plimsoll::engine
