// SPDX-License-Identifier: Apache-2.0
// Who waits for whom: each rank writes to the store what it waits for, so that a silent rank can be named.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "core/base/units.h"
#include "core/engine/base/patience.h"

namespace plimsoll::engine {

/// A thread looks twice a second. A wait of more than a second is written to the store under this rank's number and is
/// removed when the wait is over. A short wait costs a lock. Beside it stands, written ten times while a time-out goes
/// by, how much processor time the rank has used, so that one that computes can be told from one that hangs.
class WaitBoard {
public:
    /// The store must be a client of its own: a blocked one would silence the board. `timeout`: the shortest after which
    /// a rank is given up. Without `own_process` nothing is known of processor time, and silence alone counts.
    WaitBoard(c10::intrusive_ptr<c10d::Store> store, int rank, int world_size, Seconds timeout, bool own_process);
    ~WaitBoard();
    WaitBoard(const WaitBoard&) = delete;
    WaitBoard& operator=(const WaitBoard&) = delete;

    /// `what` as in "all-reduce of Float [5] in the data group".
    void enter(std::string what);
    void leave();
    /// How long this rank has waited so far, all in all.
    double waited_seconds() const;

    /// Processor time of the other ranks, read from the store; empty when it is out of reach.
    Pulses pulses();
    bool own_process() const { return own_process_; }

    /// A wait that another thread has to break off: while it lives, this board's thread asks the deadline, and calls
    /// `give_up` once it has passed.
    struct Watch {
        Patience patience;
        Deadline deadline{patience};
        std::function<void()> give_up;
        std::atomic<bool> over{false};      ///< the wait has ended by itself
        std::atomic<bool> given_up{false};  ///< the deadline has passed
        std::mutex ending;                  ///< of the wait: not while `give_up` runs

        /// The wait has ended. What `give_up` holds, a message's tensors, goes at once, not when the board looks next.
        void end();
        /// Gives up once the deadline has passed. For the board's thread.
        void ask();
    };
    std::shared_ptr<Watch> watch(Patience patience, std::function<void()> give_up);

    /// One clause on all ranks, read from the store: "rank 1 waits in …; ranks 2 and 3 wait for nothing: they hang,
    /// have ended or are far behind". Empty when the store is out of reach.
    std::string report();

private:
    void look_around();
    void tell_pulse();
    void ask_deadlines(std::vector<std::shared_ptr<Watch>> watches);
    void tell(const std::string& key, const std::string& text);
    std::string read(const std::string& key);

    c10::intrusive_ptr<c10d::Store> store_;
    int rank_, world_size_;
    bool own_process_;
    mutable std::mutex mutex_;
    std::condition_variable wake_;
    std::string waiting_;  ///< empty: for nothing
    std::chrono::steady_clock::time_point since_;
    double waited_ = 0;  ///< seconds
    bool told_ = false;
    std::vector<std::shared_ptr<Watch>> watches_;
    Seconds pulse_every_;
    std::chrono::milliseconds look_every_;
    std::chrono::steady_clock::time_point pulse_told_{};
    bool ending_ = false;
    std::thread thread_;
};

/// A patience that lets ranks compute as long as they like. A null board is none: then silence alone counts.
Patience patience_on(WaitBoard* board, Seconds limit);

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
