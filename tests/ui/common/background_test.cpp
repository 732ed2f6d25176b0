// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/common/background.h"

#include <gtest/gtest.h>

#include <memory>
#include <QElapsedTimer>
#include <QSemaphore>
#include <QTest>
#include <QThread>
#include <stdexcept>

namespace plimsoll::ui {
namespace {

constexpr int patience = 10'000;  // ms

bool waitUntil(const std::function<bool()>& holds) { return QTest::qWaitFor(holds, patience); }

/// Holds tasks back until it is opened; tasks own it together with the test.
struct Gate {
    QSemaphore begun, open;
    std::atomic<bool> sawCancel{false};
    std::atomic<int> ended{0};

    void pass() {
        begun.release();
        open.acquire();
    }
};

TEST(Background, TheAnswerIsTakenOnTheAskersThread) {
    Background background;
    QThread *worked = nullptr, *taken = nullptr;
    int answer = 0;
    background.ask([&worked] { return worked = QThread::currentThread(), 42; },
                   [&](const Result<int>& result) {
                       taken = QThread::currentThread();
                       answer = result.value_or(-1);
                       EXPECT_FALSE(background.isBusy()) << "when its answer is taken a question is over";
                   });
    EXPECT_TRUE(background.isBusy());
    EXPECT_EQ(answer, 0) << "nothing is taken inside ask";
    ASSERT_TRUE(waitUntil([&] { return answer != 0; }));
    EXPECT_EQ(answer, 42);
    EXPECT_EQ(taken, QThread::currentThread());
    EXPECT_NE(worked, taken);
}

TEST(Background, AnErrorIsTakenAsItIs) {
    Background background;
    QString sentence;
    background.ask([]() -> Result<int> { return bad_input("there is no {}", "text"); },
                   [&](const Result<int>& result) { sentence = QString::fromStdString(result.error().message); });
    ASSERT_TRUE(waitUntil([&] { return !sentence.isEmpty(); }));
    EXPECT_EQ(sentence, QStringLiteral("there is no text"));
}

TEST(Background, AnExceptionBecomesAnError) {
    Background background;
    QStringList sentences;
    const auto take = [&](const Result<int>& result) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().kind, Error::Kind::Failed);
        sentences << QString::fromStdString(result.error().message);
    };
    background.ask([]() -> int { throw std::runtime_error("the drive is gone"); }, take);
    ASSERT_TRUE(waitUntil([&] { return sentences.size() == 1; }));
    EXPECT_TRUE(sentences[0].contains(QStringLiteral("the drive is gone"))) << sentences[0].toStdString();
    background.ask([]() -> int { throw 7; }, take);
    ASSERT_TRUE(waitUntil([&] { return sentences.size() == 2; }));
}

TEST(Background, OfManyQuestionsTheLastIsAnsweredAndThoseThatWaitedNeverBegin) {
    Background background;
    const auto gate = std::make_shared<Gate>();
    const auto begun = std::make_shared<std::atomic<int>>(0);
    QList<int> taken;
    for (int i = 0; i < 5; ++i) {
        background.ask(
            [gate, begun, i] {
                ++*begun;
                gate->pass();
                return i;
            },
            [&taken](const Result<int>& result) { taken << *result; });
        if (i == 0) {
            ASSERT_TRUE(gate->begun.tryAcquire(1, patience));
        }
    }
    gate->open.release(5);
    ASSERT_TRUE(waitUntil([&] { return !taken.isEmpty(); }));
    QTest::qWait(50);
    EXPECT_EQ(taken, QList<int>{4}) << "the first one's answer is stale, the others were never wanted";
    EXPECT_EQ(*begun, 2);
}

TEST(Background, AnAnswerThatIsOnItsWayIsDroppedByAnotherQuestion) {
    Background background;
    const auto gate = std::make_shared<Gate>();
    QList<int> taken;
    const auto take = [&taken](const Result<int>& result) { taken << *result; };
    background.ask(
        [gate] {
            gate->begun.release();
            return 1;
        },
        take);
    ASSERT_TRUE(gate->begun.tryAcquire(1, patience));
    QThread::msleep(50);  // the answer lies in the event queue, which nothing has read
    background.ask([] { return 2; }, take);
    ASSERT_TRUE(waitUntil([&] { return !taken.isEmpty(); }));
    QTest::qWait(50);
    EXPECT_EQ(taken, QList<int>{2});
}

TEST(Background, WhatIsToldMeanwhileComesInOrderBeforeTheAnswer) {
    Background background;
    QList<int> taken;
    background.ask(
        [&taken](const Question& question) {
            for (int i = 1; i <= 3; ++i) question.tell([&taken, i] { taken << i; });
            return 4;
        },
        [&taken](const Result<int>& result) { taken << *result; });
    ASSERT_TRUE(waitUntil([&] { return taken.size() == 4; }));
    EXPECT_EQ(taken, (QList<int>{1, 2, 3, 4}));
}

/// Runs until it is cancelled, or for too long.
int untilCancelled(const std::shared_ptr<Gate>& gate, const Question& question) {
    gate->begun.release();
    for (int i = 0; i < patience && !question.isCancelled(); ++i) QThread::msleep(1);
    gate->sawCancel = question.isCancelled() && *question.cancelled();
    ++gate->ended;
    return 1;
}

TEST(Background, CancelIsSeenByTheTaskAndItsAnswerIsNotTaken) {
    Background background;
    const auto gate = std::make_shared<Gate>();
    bool taken = false;
    background.ask([gate](const Question& question) { return untilCancelled(gate, question); },
                   [&taken](const Result<int>&) { taken = true; });
    ASSERT_TRUE(gate->begun.tryAcquire(1, patience));
    background.cancel();
    EXPECT_FALSE(background.isBusy());
    ASSERT_TRUE(waitUntil([&] { return gate->ended == 1; }));
    EXPECT_TRUE(gate->sawCancel);
    QTest::qWait(50);
    EXPECT_FALSE(taken);
}

TEST(Background, AnotherQuestionCancelsTheTaskThatRuns) {
    Background background;
    const auto gate = std::make_shared<Gate>();
    QList<int> taken;
    background.ask([gate](const Question& question) { return untilCancelled(gate, question); },
                   [&taken](const Result<int>& result) { taken << *result; });
    ASSERT_TRUE(gate->begun.tryAcquire(1, patience));
    background.ask([] { return 2; }, [&taken](const Result<int>& result) { taken << *result; });
    ASSERT_TRUE(waitUntil([&] { return !taken.isEmpty(); }));
    EXPECT_TRUE(gate->sawCancel);
    EXPECT_EQ(taken, QList<int>{2});
}

TEST(Background, DestructionReturnsAtOnceAndNothingIsCalledLater) {
    const auto gate = std::make_shared<Gate>();
    bool taken = false, told = false;
    auto background = std::make_unique<Background>();
    background->ask(
        [gate, &told](const Question& question) {
            gate->pass();  // deaf to the flag, as an estimate is
            question.tell([&told] { told = true; });
            gate->sawCancel = question.isCancelled();
            ++gate->ended;
            return 1;
        },
        [&taken](const Result<int>&) { taken = true; });
    ASSERT_TRUE(gate->begun.tryAcquire(1, patience));
    QElapsedTimer timer;
    timer.start();
    background.reset();
    EXPECT_LT(timer.elapsed(), 1000) << "the task is held back for as long as this test likes";
    EXPECT_EQ(gate->ended, 0);
    gate->open.release();
    ASSERT_TRUE(waitUntil([&] { return gate->ended == 1; }));
    QTest::qWait(50);
    EXPECT_TRUE(gate->sawCancel);
    EXPECT_FALSE(taken || told);
}

TEST(Background, ThreadsOfSeveralDoNotWaitForEachOther) {
    const auto gate = std::make_shared<Gate>();
    std::vector<std::unique_ptr<Background>> held;
    for (int i = 0; i < 10; ++i) {
        held.push_back(std::make_unique<Background>());
        held.back()->ask([gate] { return gate->pass(), 0; }, [](const Result<int>&) {});
    }
    EXPECT_TRUE(gate->begun.tryAcquire(10, patience)) << "ten tasks run at once, on however many cores";
    gate->open.release(10);
}

}  // namespace
}  // namespace plimsoll::ui
