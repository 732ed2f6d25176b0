// SPDX-License-Identifier: GPL-3.0-or-later
// Work off the window's thread: one question at a time, of which the latest counts.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <QObject>
#include <type_traits>

#include "core/base/result.h"

namespace plimsoll::ui {

/// What a task knows of the one who asked. Copies stand for the same question.
class Question {
public:
    /// Nobody waits for the answer any more: a long task looks here now and then and returns.
    bool isCancelled() const { return *cancelled_; }
    /// The same as a flag that the core's searches read; never null.
    const std::atomic<bool>* cancelled() const { return cancelled_.get(); }
    /// `call` runs on the asker's thread, in the order of the calls, unless the question is stale or the asker is gone
    /// by then. For what is known before the task ends.
    void tell(std::function<void()> call) const;

private:
    friend class Background;
    struct Desk;
    Question(std::shared_ptr<Desk> desk, std::uint64_t number);

    std::shared_ptr<Desk> desk_;
    std::shared_ptr<std::atomic<bool>> cancelled_;
    std::uint64_t number_ = 0;
};

/// Belongs to a model, as a member, and is used on the model's thread alone. Each of these has one thread at most.
class Background {
public:
    Background();
    /// Returns at once: a task that runs sees `isCancelled()`, and its answer is dropped.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// `task()` or `task(question)` runs on another thread and gives an Answer or a Result<Answer>; then
    /// `take(Result<Answer>)` is called on this thread. An exception of the task becomes an error. The question before
    /// this one is cancelled: a task of it that runs ends first, one that waits never begins, and neither is taken.
    /// The task owns what it reads: it may outlive the model.
    template <class Task, class Take>
    void ask(Task task, Take take) {
        begin([task = std::move(task), take = std::move(take)](const Question& question) mutable {
            auto answer = std::make_shared<AnswerOf<Task>>(answered(task, question));
            return std::function<void()>([take, answer]() mutable { take(std::move(*answer)); });
        });
    }
    /// The question is dropped, its answer never taken.
    void cancel();
    /// A question waits for its answer; no longer so when the answer is taken.
    bool isBusy() const;

private:
    template <class T>
    struct Wrapped {
        using Type = Result<T>;
    };
    template <class T>
    struct Wrapped<Result<T>> {
        using Type = Result<T>;
    };
    template <class Task>
    static auto called(Task& task, const Question& question) {
        if constexpr (std::is_invocable_v<Task&, const Question&>)
            return task(question);
        else
            return task();
    }
    template <class Task>
    using AnswerOf = typename Wrapped<decltype(called(std::declval<Task&>(), std::declval<const Question&>()))>::Type;

    template <class Task>
    static AnswerOf<Task> answered(Task& task, const Question& question) {
        try {
            return called(task, question);
        } catch (...) {
            return tl::unexpected(errorOfException());
        }
    }
    /// Of the exception that is being handled.
    static Error errorOfException();

    /// The job gives the call that ends the question.
    void begin(std::function<std::function<void()>(const Question&)> job);

    std::shared_ptr<Question::Desk> desk_;
};

}  // namespace plimsoll::ui
