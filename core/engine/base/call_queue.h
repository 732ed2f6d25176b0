// SPDX-License-Identifier: Apache-2.0
// Calls that run one after the other, beside the thread that made them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace plimsoll::engine {

/// One thread runs the calls in their order. A thread that waits for a call runs the call and those before it itself if
/// the queue's own thread has not begun them: waiting at once then costs no change of threads.
class CallQueue {
public:
    CallQueue() : thread_([this] { serve(); }) {}
    /// After the last call has run.
    ~CallQueue();
    CallQueue(const CallQueue&) = delete;
    CallQueue& operator=(const CallQueue&) = delete;

    /// `call` throws nothing. Gives its number.
    std::uint64_t add(std::function<void()> call);
    void wait_for(std::uint64_t number);

private:
    void serve();
    void run_next(std::unique_lock<std::mutex>& lock);

    std::mutex mutex_;
    std::condition_variable work_, progress_;
    std::deque<std::function<void()>> calls_;
    std::uint64_t added_ = 0, done_ = 0;
    bool running_ = false, ending_ = false;
    std::thread thread_;
};

}  // namespace plimsoll::engine
