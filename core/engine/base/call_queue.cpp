// SPDX-License-Identifier: Apache-2.0
#include "core/engine/base/call_queue.h"

namespace plimsoll::engine {

CallQueue::~CallQueue() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    work_.notify_all();
    thread_.join();
}

std::uint64_t CallQueue::add(std::function<void()> call) {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(mutex_);
        calls_.push_back(std::move(call));
        number = ++added_;
    }
    work_.notify_one();
    return number;
}

void CallQueue::wait_for(std::uint64_t number) {
    std::unique_lock lock(mutex_);
    while (done_ < number) {
        if (running_) {
            progress_.wait(lock);
        } else {
            run_next(lock);
        }
    }
}

void CallQueue::run_next(std::unique_lock<std::mutex>& lock) {
    running_ = true;
    std::function<void()> call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    call();
    call = nullptr;  // its tensors go before anybody hears that it is done
    lock.lock();
    running_ = false;
    ++done_;
    progress_.notify_all();
    if (ending_ || !calls_.empty()) work_.notify_one();
}

void CallQueue::serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [this] { return !running_ && (ending_ || !calls_.empty()); });
        if (calls_.empty()) return;
        run_next(lock);
    }
}

}  // namespace plimsoll::engine
