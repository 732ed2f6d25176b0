// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/background.h"

#include <exception>
#include <mutex>
#include <QCoreApplication>
#include <QPointer>
#include <QThreadPool>
#include <utility>

namespace plimsoll::ui {

namespace {

// One per kind of work in the window; work of one kind never waits for another's.
constexpr int mostThreads = 16;

/// Ended with the application, which waits for its tasks after the window has gone.
QThreadPool& pool() {
    static QPointer<QThreadPool> threads;
    if (!threads) {
        threads = new QThreadPool(QCoreApplication::instance());
        threads->setMaxThreadCount(mostThreads);
    }
    return *threads;
}

}  // namespace

/// Between the two threads. The mutex is held for what both touch.
struct Question::Desk {
    using Job = std::function<void()>;

    std::mutex mutex;
    std::unique_ptr<QObject> receiver = std::make_unique<QObject>();  ///< null once the asker is gone
    std::uint64_t number = 0;                                         ///< of the question that counts
    std::shared_ptr<std::atomic<bool>> cancelled;                     ///< of the same; null: nothing is asked
    Job waiting;                                                      ///< begins when the task that runs has ended
    bool working = false;
    bool busy = false;  ///< touched by the asker alone

    /// On a thread of the pool: one job after the other, until none waits.
    static void work(const std::shared_ptr<Desk>& desk, Job job) {
        while (job) {
            job();
            job = nullptr;  // what it owns goes before the next begins
            const std::lock_guard lock(desk->mutex);
            job = std::exchange(desk->waiting, nullptr);
            desk->working = job != nullptr;
        }
    }
    /// Calls `call` on the asker's thread if `question` still counts there. `ends`: nothing more comes.
    static void post(const std::shared_ptr<Desk>& desk, std::uint64_t question, Job call, bool ends) {
        const std::lock_guard lock(desk->mutex);  // the receiver lives for as long as this is held
        if (!desk->receiver || question != desk->number) return;
        QMetaObject::invokeMethod(
            desk->receiver.get(),
            [desk = std::weak_ptr(desk), question, call = std::move(call), ends] {
                const auto here = desk.lock();
                if (!here || question != here->number) return;
                if (ends) here->busy = false;
                call();
            },
            Qt::QueuedConnection);
    }
    /// What was asked counts no more.
    void drop() {
        if (cancelled) *cancelled = true;
        cancelled.reset();
        waiting = nullptr;
        ++number;
        busy = false;
    }
};

Question::Question(std::shared_ptr<Desk> desk, std::uint64_t number)
    : desk_(std::move(desk)), cancelled_(desk_->cancelled), number_(number) {}

void Question::tell(std::function<void()> call) const { Desk::post(desk_, number_, std::move(call), false); }

Background::Background() : desk_(std::make_shared<Question::Desk>()) {}

Background::~Background() {
    std::unique_ptr<QObject> receiver;
    Question::Desk::Job waiting;
    {
        const std::lock_guard lock(desk_->mutex);
        waiting = std::exchange(desk_->waiting, nullptr);
        desk_->drop();
        receiver = std::move(desk_->receiver);
    }
}

void Background::cancel() {
    Question::Desk::Job waiting;  // destroyed without the mutex
    const std::lock_guard lock(desk_->mutex);
    waiting = std::exchange(desk_->waiting, nullptr);
    desk_->drop();
}

bool Background::isBusy() const { return desk_->busy; }

void Background::begin(std::function<std::function<void()>(const Question&)> job) {
    cancel();
    std::unique_lock lock(desk_->mutex);
    desk_->cancelled = std::make_shared<std::atomic<bool>>(false);
    desk_->busy = true;
    const Question question(desk_, desk_->number);
    Question::Desk::Job whole = [job = std::move(job), question] {
        Question::Desk::post(question.desk_, question.number_, job(question), true);
    };
    if (desk_->working) {
        desk_->waiting = std::move(whole);
        return;
    }
    desk_->working = true;
    lock.unlock();
    pool().start([desk = desk_, whole = std::move(whole)]() mutable { Question::Desk::work(desk, std::move(whole)); });
}

Error Background::errorOfException() {
    std::string what = "an unknown exception";
    try {
        throw;
    } catch (const std::exception& error) {
        what = error.what();
    } catch (...) {
    }
    return Error{"the work failed: " + what + "; report it with what you did", Error::Kind::Failed};
}

}  // namespace plimsoll::ui
