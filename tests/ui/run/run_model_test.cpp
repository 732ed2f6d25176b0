// SPDX-License-Identifier: GPL-3.0-or-later
// What the studio holds of a run equals what the run recorded, while it is written and after.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <QSignalSpy>

#include "core/plan/plan_io.h"
#include "core/run/run_lock.h"
#include "tests/support/synthetic_run.h"
#include "ui/common/value_format.h"
#include "ui/memory/measured_memory.h"
#include "ui/run/event_list_model.h"
#include "ui/run/log_tail.h"
#include "ui/run/resumable.h"
#include "ui/run/run_figures.h"
#include "ui/run/run_list_model.h"
#include "ui/run/run_model.h"
#include "ui/run/run_words.h"
#include "ui/run/smoothed_series.h"

namespace plimsoll::ui {
namespace {

namespace fs = std::filesystem;

QString pathOf(const RunFolder& run) { return QString::fromStdString(run.path().string()); }

void open(RunModel& model, const RunFolder& run) {
    QSignalSpy caught_up(&model, &RunModel::caughtUp);
    model.open(pathOf(run));
    EXPECT_TRUE(model.isLoading());
    ASSERT_TRUE(waitFor([&] { return caught_up.count() > 0; }));
    EXPECT_FALSE(model.isLoading());
}

TEST(RunModel, ShowsTheWholeHistoryOfEachRank) {
    const RunStore store;
    const RunFolder run = store.add("demo", 2, 300);
    record(run, series::loss, 1, 201, [](auto step) { return 5.0 - 0.01 * static_cast<double>(step); });
    record(
        run, series::memory, 1, 201, [](auto step) { return 1e6 + static_cast<double>(step); }, 1);
    recordEvent(run, {.step = 100, .time = 1e9 + 100, .kind = EventKind::Checkpoint, .sentence = "Checkpoint, 1.2 MB"});
    RunModel model;
    open(model, run);
    const Pyramid* loss = model.find(series::loss);
    ASSERT_NE(loss, nullptr);
    ASSERT_EQ(loss->size(), 200U);
    for (std::size_t i = 0; i < loss->size(); ++i) {
        EXPECT_EQ(loss->step(i), i + 1);
        EXPECT_EQ(loss->value(i), 5.0 - 0.01 * static_cast<double>(i + 1));
    }
    ASSERT_NE(model.find(series::memory, 1), nullptr);
    EXPECT_EQ(model.find(series::memory, 1)->value(0), 1e6 + 1);
    EXPECT_EQ(model.find(series::memory, 0), nullptr);
    EXPECT_EQ(model.rankCount(), 2);
    EXPECT_EQ(model.step(), 200);
    EXPECT_EQ(model.totalSteps(), 300);
    ASSERT_EQ(model.events().size(), 1U);
    EXPECT_EQ(model.events()[0].sentence, "Checkpoint, 1.2 MB");
    EXPECT_EQ(model.state().status, RunStatus::Finished);
    EXPECT_FALSE(model.isLive());
    EXPECT_FALSE(model.predictedMemory().empty());
    EXPECT_TRUE(model.problem().isEmpty()) << model.problem().toStdString();
}

TEST(RunModel, PointsArriveWhileTheRunIsWritten) {
    const RunStore store;
    const RunFolder run = store.add("live");
    record(run, series::loss, 1, 11, [](auto step) { return static_cast<double>(step); });
    RunModel model;
    open(model, run);
    ASSERT_EQ(model.find(series::loss)->size(), 10U);
    QSignalSpy updated(&model, &RunModel::updated);
    record(run, series::loss, 11, 31, [](auto step) { return static_cast<double>(step) * 2; });
    ASSERT_TRUE(waitFor([&] { return model.find(series::loss)->size() == 30; }));
    EXPECT_GT(updated.count(), 0);
    EXPECT_EQ(model.find(series::loss)->value(29), 60);
    // A rank that appears later is found as well.
    record(
        run, series::step_time, 1, 5, [](auto) { return 0.25; }, 1);
    ASSERT_TRUE(waitFor([&] { return model.find(series::step_time, 1) != nullptr; }));
    EXPECT_EQ(model.find(series::step_time, 1)->value(3), 0.25);
}

TEST(RunModel, AResumedRunReplacesTheStepsItTrainsAgain) {
    const RunStore store;
    const RunFolder run = store.add("resumed");
    record(run, series::loss, 1, 61, [](auto step) { return static_cast<double>(step); });
    RunModel model;
    open(model, run);
    record(run, series::loss, 41, 51, [](auto step) { return -static_cast<double>(step); });
    ASSERT_TRUE(waitFor([&] { return model.find(series::loss)->size() == 50; }));
    EXPECT_EQ(model.find(series::loss)->value(39), 40);
    EXPECT_EQ(model.find(series::loss)->value(40), -41);
    EXPECT_EQ(model.find(series::loss)->value(49), -50);
}

TEST(RunModel, AHugeHistoryComesInPiecesAndIsComplete) {
    const RunStore store;
    const RunFolder run = store.add("huge", 1, 1'000'000);
    recordMillion(run, series::loss, 1'000'000, [](auto step) { return step == 777'777 ? 1e6 : 2.0; });
    RunModel model;
    QSignalSpy updated(&model, &RunModel::updated);
    QSignalSpy caught_up(&model, &RunModel::caughtUp);
    std::vector<double> progress;
    QObject::connect(&model, &RunModel::statusChanged, &model, [&] { progress.push_back(model.loadProgress()); });
    model.open(pathOf(run));
    ASSERT_TRUE(waitFor([&] { return caught_up.count() > 0; }));
    EXPECT_EQ(model.find(series::loss)->size(), 1'000'000U);
    EXPECT_EQ(model.find(series::loss)->value(777'777), 1e6);
    EXPECT_GE(updated.count(), 20) << "40,000 points a piece at most";
    EXPECT_GT(progress.size(), 5U);
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
}

TEST(RunModel, OpeningAnotherRunForgetsTheFormer) {
    const RunStore store;
    const RunFolder one = store.add("one"), two = store.add("two");
    record(one, series::loss, 1, 51, [](auto) { return 1.0; });
    record(two, series::loss, 1, 21, [](auto) { return 2.0; });
    RunModel model;
    model.open(pathOf(one));
    open(model, two);  // while the first may still be on its way
    EXPECT_EQ(model.find(series::loss)->size(), 20U);
    EXPECT_EQ(model.find(series::loss)->value(0), 2.0);
    EXPECT_EQ(model.runName(), QStringLiteral("two"));
    model.close();
    EXPECT_FALSE(model.isOpen());
    EXPECT_EQ(model.find(series::loss), nullptr);
}

TEST(RunModel, ARunWhoseFolderVanishesKeepsWhatWasRead) {
    const RunStore store;
    const RunFolder run = store.add("gone");
    record(run, series::loss, 1, 21, [](auto) { return 1.0; });
    RunModel model;
    open(model, run);
    fs::remove_all(run.path());
    ASSERT_TRUE(waitFor([&] { return model.isVanished(); }));
    EXPECT_EQ(model.find(series::loss)->size(), 20U);
    const auto notice = noticeFor(model, true);
    ASSERT_TRUE(notice.has_value());
    EXPECT_TRUE(notice->sentence.contains(model.runPath()));
    EXPECT_EQ(notice->action, RunNotice::Action::Train);
    EXPECT_FALSE(notice->empty);
}

TEST(RunModel, AFolderThatIsNoRunIsAProblemNotACrash) {
    const RunStore store;
    fs::create_directories(store.path() / "empty");
    RunModel model;
    model.open(QString::fromStdString((store.path() / "empty").string()));
    ASSERT_TRUE(waitFor([&] { return !model.problem().isEmpty(); }));
    EXPECT_TRUE(model.problem().contains(QStringLiteral("no run folder")));
    EXPECT_EQ(noticeFor(model, false)->action, RunNotice::Action::ShowLog);
}

TEST(RunModel, DamagedRecordsAndStateAreSaid) {
    const RunStore store;
    const RunFolder run = store.add("damaged");
    record(run, series::loss, 1, 201, [](auto step) { return static_cast<double>(step); });
    {
        std::fstream file(run.telemetry_path(0), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(2000);
        file.write("XXXXXXXX", 8);
    }
    RunModel model;
    open(model, run);
    EXPECT_GE(model.find(series::loss)->size(), 195U);
    EXPECT_LT(model.find(series::loss)->size(), 200U);
    ASSERT_TRUE(waitFor([&] { return model.problem().contains(QStringLiteral("damaged")); }));
    std::ofstream(run.layout().state()) << "{\"status\": 12";
    ASSERT_TRUE(waitFor([&] { return model.problem().contains(QStringLiteral("run.json")); }));
    EXPECT_GE(model.find(series::loss)->size(), 195U);
}

TEST(RunModel, HostileFileNamesAreNoRanks) {
    const RunStore store;
    const RunFolder run = store.add("hostile", 1);
    record(run, series::loss, 1, 5, [](auto) { return 1.0; });
    for (const char* name :
         {"rank-99999999999.rec", "rank--1.rec", "rank-.rec", "rank-1x.rec", "rank-100000.rec", "other"})
        std::ofstream(run.layout().records() / name) << "PLMSREC1";
    RunModel model;
    open(model, run);
    EXPECT_EQ(model.rankCount(), 1);
    EXPECT_TRUE(model.problem().isEmpty()) << model.problem().toStdString();
}

TEST(RunModel, RanksBeyondThousandsAreRead) {
    const RunStore store;
    const RunFolder run = store.add("many", 1);
    record(run, series::loss, 1, 5, [](auto) { return 1.0; });
    record(
        run, series::memory, 1, 5, [](auto) { return 2e6; }, 5000);
    RunModel model;
    open(model, run);
    EXPECT_EQ(model.rankCount(), 5001) << "as the terminal counts them";
    ASSERT_NE(model.find(series::memory, 5000), nullptr);
    EXPECT_EQ(model.find(series::memory, 5000)->value(3), 2e6);
}

TEST(RunModel, ARecordThatIsReplacedTakesItsEventsAway) {
    const RunStore store;
    const RunFolder run = store.add("replaced", 1);
    record(run, series::loss, 1, 61, [](auto) { return 1.0; });
    recordEvent(run, {.step = 50, .time = 1e9, .kind = EventKind::Checkpoint, .sentence = "of the former file"});
    RunModel model;
    open(model, run);
    ASSERT_EQ(model.events().size(), 1U);
    const RunFolder other = store.add("other", 1);
    record(other, series::loss, 1, 11, [](auto) { return 2.0; });
    fs::rename(other.telemetry_path(0), run.telemetry_path(0));
    ASSERT_TRUE(waitFor([&] { return model.find(series::loss) != nullptr && model.find(series::loss)->size() == 10; }));
    EXPECT_EQ(model.find(series::loss)->value(9), 2.0);
    EXPECT_TRUE(model.events().empty());
}

TEST(RunModel, AnyNumberInTheStateFileIsShownWithoutHarm) {
    const RunStore store;
    const RunFolder run = store.add("numbers", 1);
    record(run, series::loss, 1, 5, [](auto) { return 1.0; });
    for (const char* number : {"1e300", "-1e300", "1e18", "-5"}) {
        std::ofstream(run.layout().state()) << "{\"status\": \"finished\", \"reason\": \"\", \"world_size\": " << number
                                            << ", \"started\": " << number << ", \"ended\": 1e299}";
        RunModel model;
        open(model, run);
        EXPECT_TRUE(statusWords(model).startsWith(QStringLiteral("finished"))) << number;
        EXPECT_GE(model.secondsElapsed(), 0);
    }
}

TEST(RunModel, AFileThatIsNoRecordIsSaidAndTheOthersAreRead) {
    const RunStore store;
    const RunFolder run = store.add("other-file", 2);
    record(run, series::loss, 1, 5, [](auto) { return 1.0; });
    std::ofstream(run.telemetry_path(1)) << std::string(100'000, 'x');
    RunModel model;
    open(model, run);
    EXPECT_EQ(model.find(series::loss)->size(), 4U);
    ASSERT_TRUE(waitFor([&] { return model.problem().contains(QStringLiteral("rank-1.rec")); }));
}

TEST(RunModel, StopAndStopNowReachTheSupervisorsControlFile) {
    const RunStore store;
    const RunFolder run = store.add("stop");
    RunModel model;
    EXPECT_FALSE(model.requestStop()) << "no run is open";
    open(model, run);
    EXPECT_TRUE(model.requestStop());
    EXPECT_TRUE(model.requestStopNow());
    std::ifstream control(run.control_path());
    std::string first, second;
    control >> first >> second;
    EXPECT_EQ(first, "stop");
    EXPECT_EQ(second, "now");
    fs::remove_all(run.path());
    EXPECT_FALSE(model.requestStop());
    EXPECT_FALSE(model.problem().isEmpty());
}

TEST(RunModel, IsLiveAsLongAsSomebodyHoldsTheLock) {
    const RunStore store;
    const RunFolder run = store.add("held");
    setState(run, RunStatus::Running);
    record(run, series::loss, 1, 101, [](auto) { return 1.0; });
    RunModel model;
    {
        const auto lock = RunLock::take(run.lock_path());
        ASSERT_TRUE(lock.has_value());
        open(model, run);
        ASSERT_TRUE(waitFor([&] { return model.isLive(); }));
        EXPECT_EQ(model.state().status, RunStatus::Running);
        EXPECT_NEAR(model.stepsPerSecond(), 1, 1e-9);  // record() writes one step a second
        EXPECT_EQ(RunModel::newestRun(), pathOf(run));
    }
    ASSERT_TRUE(waitFor([&] { return !model.isLive(); }));
    EXPECT_EQ(model.state().status, RunStatus::Failed);
    EXPECT_EQ(noticeFor(model, false)->action, RunNotice::Action::ShowLog);
    EXPECT_LT(model.secondsLeft(), 0);
}

TEST(RunModel, ARunThatIsStoppingTellsWhatItWaitsFor) {
    const RunStore store;
    const RunFolder run = store.add("stopping");
    record(run, series::step_time, 1, 4, [](auto) { return 50.0; });
    setState(run, RunStatus::Stopping);
    const auto lock = RunLock::take(run.lock_path());
    ASSERT_TRUE(lock.has_value());
    RunModel model;
    open(model, run);
    ASSERT_TRUE(waitFor([&] { return model.stopWait().has_value(); }));
    EXPECT_EQ(model.stopWait()->step, 4);
    EXPECT_EQ(noticeFor(model, false)->action, RunNotice::Action::StopNow);
    EXPECT_TRUE(noticeFor(model, false)->sentence.startsWith(QStringLiteral("Stopping: step 4 ")))
        << noticeFor(model, false)->sentence.toStdString();

    // The step is done: its checkpoint is written, which Stop now would wait for as well.
    fs::create_directories(run.checkpoints() / ".step-00000004.new");
    std::ofstream(run.checkpoints() / ".step-00000004.new" / "model.safetensors") << std::string(2048, 'x');
    ASSERT_TRUE(
        waitFor([&] { return model.stopWait() && model.stopWait()->save && model.stopWait()->save->written == 2048; }));
    EXPECT_EQ(noticeFor(model, false)->action, RunNotice::Action::None);
    EXPECT_EQ(noticeFor(model, false)->sentence,
              QStringLiteral("Stopping: the checkpoint of step 4 is being saved, %1 so far.").arg(bytesText(2048)));
    setState(run, RunStatus::Stopped, "stopped on request");
    ASSERT_TRUE(waitFor([&] { return !model.stopWait(); }));
}

TEST(RunWords, AStopIsToldInWords) {
    StopWait wait;
    wait.step = 13;
    wait.elapsed = 6;
    EXPECT_EQ(waitWords(wait),
              QStringLiteral("Stopping: step 13 is the first and has taken 6 s so far; then its checkpoint is saved."));
    wait.step_takes = 20;
    EXPECT_EQ(waitWords(wait), QStringLiteral("Stopping: step 13 ends in about 14 s, then its checkpoint is saved."));
    wait.elapsed = 35;
    EXPECT_EQ(waitWords(wait),
              QStringLiteral("Stopping: step 13 has taken 35 s, those before it 20 s; then its checkpoint is saved."));
    wait.save = SaveUnderWay{13, 210 * MiB};
    wait.save_takes = 341 * MiB;
    EXPECT_EQ(
        waitWords(wait),
        QStringLiteral("Stopping: the checkpoint of step 13 is being saved, %1.").arg(partOf(210 * MiB, 341 * MiB)));
}

TEST(RunModel, TimeDownDoesNotCountForTheTimeLeft) {
    const RunStore store;
    const RunFolder run = store.add("resumed", 2, 100);
    setState(run, RunStatus::Running);
    const auto start = [](EventKind kind, double time) {
        Event event;
        event.time = time;
        event.kind = kind;
        return event;
    };
    // record() writes one step a second from 1e9 on; the run was down for a quarter of an hour behind step 20.
    recordEvent(run, start(EventKind::Start, 1e9));
    record(run, series::loss, 1, 21, [](auto) { return 1.0; });
    recordEvent(run, start(EventKind::Resume, 1e9 + 920));
    {
        TelemetryWriter writer = *TelemetryWriter::open(run.telemetry_path(0));
        for (std::uint64_t step = 21; step <= 40; ++step)
            ASSERT_TRUE(writer.points(step, 1e9 + 900 + static_cast<double>(step), {{series::loss, 1.0}}));
    }
    const auto lock = RunLock::take(run.lock_path());
    RunModel model;
    open(model, run);
    ASSERT_TRUE(waitFor([&] { return model.isLive(); }));
    EXPECT_NEAR(model.secondsLeft(), 60, 1e-6);
}

TEST(RunModel, MemoryOfAnEarlierLayoutIsNotComparedWithThePlan) {
    const RunStore store;
    const RunFolder run = store.add("moved", 1);
    const auto start = [](EventKind kind, double time) {
        Event event;
        event.time = time;
        event.kind = kind;
        return event;
    };
    const auto kilobytes = [](double count) { return [count](auto) { return count * 1024; }; };
    recordEvent(run, start(EventKind::Start, 1e9));
    record(run, series::memory_peak, 1, 10, kilobytes(900));
    record(run, series::memory_peak, 1, 10, kilobytes(800), 1);
    recordEvent(run, start(EventKind::Resume, 1e9 + 9.5));
    record(run, series::memory_peak, 10, 20, kilobytes(300));
    RunModel model;
    open(model, run);
    EXPECT_TRUE(memoryWords(model).startsWith(QStringLiteral("300"))) << memoryWords(model).toStdString();
    const auto measured = measuredMemory(model);
    ASSERT_TRUE(measured);
    EXPECT_EQ(measured->measured, 300 * 1024);
    EXPECT_EQ(measured->rank, 0);
}

TEST(RunModel, ThePlanOfARunThatIsResumedWithAnotherIsReadAgain) {
    const RunStore store;
    const RunFolder run = store.add("longer", 2, 100);
    RunModel model;
    open(model, run);
    ASSERT_TRUE(waitFor([&] { return model.totalSteps() == 100; }));
    Plan longer = *model.plan();
    longer.training.steps = 123;
    ASSERT_TRUE(save_plan(run.plan_path(), longer));
    EXPECT_TRUE(waitFor([&] { return model.totalSteps() == 123; }));
}

TEST(RunModel, NewestRunPrefersTheLiveOne) {
    const RunStore store;
    EXPECT_TRUE(RunModel::newestRun().isEmpty());
    const RunFolder old = store.add("old", 1, 100, 5000);
    const RunFolder recent = store.add("recent", 1, 100, 10);
    EXPECT_EQ(RunModel::newestRun(), pathOf(recent));
    const auto lock = RunLock::take(old.lock_path());
    EXPECT_EQ(RunModel::newestRun(), pathOf(old));
}

TEST(RunWords, SayProgressAndRestInPlainWords) {
    const RunStore store;
    const RunFolder run = store.add("words", 2, 5000);
    record(run, series::loss, 1, 3105, [](auto) { return 2.5; });
    RunModel model;
    open(model, run);
    EXPECT_EQ(progressWords(model), QStringLiteral("step <b>3,104</b> of 5,000 · 62 %"));
    EXPECT_TRUE(statusWords(model).startsWith(QStringLiteral("finished on 2 rank")));
    EXPECT_EQ(lossWords(model), QStringLiteral("2.500 · EMA 2.500"));
}

TEST(RunWords, MovingAverageWeighsRecentPointsAndPassesOverNaN) {
    Pyramid data;
    double expected = 0, weights = 0;
    for (std::uint64_t i = 0; i < 1000; ++i) {
        const double value = i % 10 == 3 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i % 17);
        data.append({.step = i, .time = 0, .value = value});
        if (std::isnan(value)) continue;
        expected = 0.98 * expected + value;
        weights = 0.98 * weights + 1;
    }
    EXPECT_NEAR(*movingAverage(data), expected / weights, 0.02);
    EXPECT_FALSE(movingAverage(Pyramid()).has_value());
}

TEST(RunWords, NamesTheSlowRank) {
    const RunStore store;
    const RunFolder run = store.add("slow", 3);
    for (int rank = 0; rank < 3; ++rank)
        record(
            run, series::step_time, 1, 40, [rank](auto) { return rank == 2 ? 0.28 : 0.25; }, rank);
    RunModel model;
    open(model, run);
    EXPECT_EQ(slowRankWords(model), QStringLiteral("rank 2 is 12 % slower"));
}

TEST(RunWords, LayersComeInTheirOrderAtTheLatestStep) {
    const RunStore store;
    const RunFolder run = store.add("layers", 1);
    {
        auto writer = TelemetryWriter::open(run.telemetry_path(0));
        ASSERT_TRUE(writer.has_value());
        for (const std::uint64_t step : {10U, 20U}) {
            std::vector<std::pair<std::string, double>> values{{"grad_norm/head", 9}, {"grad_norm/embed", 8}};
            for (int layer = 0; layer < 12; ++layer)
                values.emplace_back(series::layer_norm_prefix + std::to_string(layer),
                                    layer + static_cast<double>(step));
            ASSERT_TRUE(writer->points(step, 1e9, values).has_value());
        }
    }
    RunModel model;
    open(model, run);
    const LayerNorms norms = latestLayerNorms(model);
    EXPECT_EQ(norms.step, 20);
    ASSERT_EQ(norms.layers.size(), 14U);
    EXPECT_EQ(norms.layers.front().first, QStringLiteral("embed"));
    EXPECT_EQ(norms.layers.back().first, QStringLiteral("head"));
    for (int layer = 0; layer < 12; ++layer) {
        EXPECT_EQ(norms.layers[static_cast<std::size_t>(layer) + 1].first, QString::number(layer));
        EXPECT_EQ(norms.layers[static_cast<std::size_t>(layer) + 1].second, layer + 20.0);
    }
}

TEST(RunWords, TheLatestSampleIsShownWithItsStep) {
    const RunStore store;
    const RunFolder run = store.add("sample", 1);
    recordEvent(run, {.step = 100, .time = 1e9, .kind = EventKind::Sample, .sentence = "first"});
    Event second{.step = 200, .time = 1e9 + 1, .kind = EventKind::Sample, .sentence = "a sample"};
    second.details = {{"prompt", "In the "}, {"text", "In the beginning"}};
    recordEvent(run, second);
    RunModel model;
    open(model, run);
    const auto sample = latestSample(model);
    ASSERT_TRUE(sample.has_value());
    EXPECT_EQ(sample->step, 200);
    EXPECT_EQ(sample->prompt + sample->text, QStringLiteral("In the beginning"));
}

TEST(EventList, NewestFirstWithoutSamplesAndBounded) {
    std::vector<Event> events;
    for (std::uint64_t i = 0; i < 2000; ++i)
        events.push_back({.step = i,
                          .time = static_cast<double>(i),
                          .kind = i % 2 ? EventKind::Overflow : EventKind::Sample,
                          .sentence = "event " + std::to_string(i)});
    EventListModel model;
    model.setEvents(events);
    EXPECT_EQ(model.rowCount(), 500);
    EXPECT_EQ(model.index(0).data().toString(), QStringLiteral("event 1999"));
    EXPECT_EQ(model.index(1).data(EventListModel::StepRole).toULongLong(), 1997U);

    EventListModel growing;
    events.resize(10);
    growing.setEvents(events);
    QSignalSpy inserted(&growing, &QAbstractItemModel::rowsInserted);
    QSignalSpy reset(&growing, &QAbstractItemModel::modelReset);
    events.push_back({.step = 11, .time = 11, .kind = EventKind::Checkpoint, .sentence = "saved"});
    growing.setEvents(events);
    EXPECT_EQ(inserted.count(), 1);
    EXPECT_EQ(reset.count(), 0) << "the list must not jump under the reader";
    EXPECT_EQ(growing.index(0).data().toString(), QStringLiteral("saved"));
    EXPECT_EQ(growing.rowCount(), 6);
}

TEST(RunList, NewestFirstAndPassesOverOtherFolders) {
    const RunStore store;
    store.add("b-older", 1, 100, 3600);
    store.add("a-oldest", 1, 100, 7200);
    store.add("c-newest", 1, 100, 1);
    fs::create_directories(store.path() / "notes");
    RunListModel list(store.path());
    ASSERT_TRUE(waitFor([&] { return list.isRead(); }));
    ASSERT_EQ(list.rowCount(), 3);
    EXPECT_EQ(list.index(0).data().toString(), QStringLiteral("c-newest"));
    EXPECT_EQ(list.index(1).data().toString(), QStringLiteral("b-older"));
    EXPECT_EQ(list.index(2).data().toString(), QStringLiteral("a-oldest"));
    EXPECT_TRUE(list.index(0).data(RunListModel::StatusRole).toString().startsWith(QStringLiteral("finished")));
    EXPECT_EQ(list.rowOf(list.index(1).data(RunListModel::PathRole).toString()), 1);
    EXPECT_EQ(list.rowOf(QStringLiteral("/nowhere")), -1);
}

TEST(RunList, HundredsOfRunsComeWholeAndANewOneIsNoticed) {
    const RunStore store;
    for (int i = 0; i < 500; ++i) store.add("run-" + std::to_string(i), 1, 100, i + 10);
    RunListModel list(store.path());
    ASSERT_TRUE(waitFor([&] { return list.rowCount() == 500; }));
    store.add("run-new", 1, 100, 0);
    ASSERT_TRUE(waitFor([&] { return list.rowCount() == 501; }));
    EXPECT_EQ(list.index(0).data().toString(), QStringLiteral("run-new"));
}

TEST(RunList, ALineSaysStepsLossAndWhatIsDifferent) {
    const RunStore store;
    const RunFolder older = store.add("older", 2, 100, 900), newer = store.add("newer", 2, 100, 10);
    record(newer, series::loss, 1, 61, [](auto) { return 2.5; });
    auto plan = newer.plan();
    ASSERT_TRUE(plan.has_value());
    plan->optimizer.lr = 3e-4;
    plan->numerics.dtype = Dtype::Bf16;
    ASSERT_TRUE(save_plan(newer.plan_path(), *plan).has_value());
    ASSERT_TRUE(write_run_notes(newer.layout(), {.title = "lower rate", .tags = {"sweep"}, .note = "a note"}));
    RunListModel list(store.path());
    ASSERT_TRUE(waitFor([&] { return list.isRead(); }));
    const auto cell = [&](int row, int column) { return list.index(row, column).data().toString(); };
    EXPECT_EQ(cell(0, RunListModel::Name), QStringLiteral("lower rate"));
    EXPECT_EQ(cell(0, RunListModel::Status), QStringLiteral("finished"));
    EXPECT_EQ(cell(0, RunListModel::Steps), QStringLiteral("60 of 100"));
    EXPECT_EQ(cell(0, RunListModel::Loss), QStringLiteral("2.500"));
    EXPECT_EQ(cell(0, RunListModel::Precision), QStringLiteral("bf16"));
    EXPECT_EQ(cell(0, RunListModel::Tags), QStringLiteral("sweep"));
    EXPECT_TRUE(cell(0, RunListModel::Changes).contains(QStringLiteral("0.0003")))
        << cell(0, RunListModel::Changes).toStdString();
    EXPECT_TRUE(cell(0, RunListModel::Changes).contains(QStringLiteral("bf16")));
    EXPECT_EQ(cell(1, RunListModel::Changes), QString()) << "nothing came before it";
    EXPECT_EQ(cell(1, RunListModel::Steps), QString());
    ASSERT_NE(list.run(pathOf(newer)), nullptr);
    EXPECT_TRUE(canResume(*list.run(pathOf(newer)))) << "60 of 100 steps are done";
}

TEST(RunFigures, TheAverageForgetsTheBeginningOfAShortRun) {
    Pyramid loss;
    // As the demo: from 5.5 down to 2.2 within 30 steps, then level.
    for (std::uint64_t step = 1; step <= 60; ++step)
        loss.append({step, 0, step < 30 ? 5.5 - 0.11 * static_cast<double>(step) : 2.2});
    EXPECT_NEAR(*movingAverage(loss), 2.2, 0.02);
}

TEST(SmoothedSeries, FollowsAndIsNotPulledToItsStart) {
    Pyramid source;
    for (std::uint64_t step = 1; step <= 100; ++step) source.append({step, 0, 3.0});
    SmoothedSeries smoothed;
    smoothed.follow(&source, 0.9);
    ASSERT_EQ(smoothed.data()->size(), 100U);
    EXPECT_NEAR(smoothed.data()->value(0), 3.0, 1e-12) << "without bias";
    source.append({101, 0, 4.0});
    smoothed.follow(&source, 0.9);
    EXPECT_NEAR(smoothed.data()->value(100), 3.1, 1e-4);
    source.append({51, 0, 7.0});  // a fork
    smoothed.follow(&source, 0.9);
    EXPECT_EQ(smoothed.data()->size(), 51U);
    smoothed.follow(nullptr, 0.9);
    EXPECT_EQ(smoothed.data(), nullptr);
}

TEST(RunWords, ReasonsNameButtonsInPlaceOfCommands) {
    RunState state;
    state.reason = "the supervisor died; `plimsoll train --resume --run /runs/x` goes on from the last checkpoint";
    EXPECT_EQ(reasonWords(state), QStringLiteral("The supervisor died; Resume goes on from the last checkpoint"));
}

TEST(LogTail, ReadsALogWholeAndThenWhatIsAdded) {
    const RunStore store;
    const RunFolder run = store.add("logs", 2, 100);
    std::ofstream(run.log_path(0)) << "one\n\x1b[31mtwo\x1b[0m\n";
    std::ofstream(run.log_path(1)) << "other\n";
    const QList<NamedLog> logs = logsOf(pathOf(run));
    ASSERT_EQ(logs.size(), 2);
    EXPECT_EQ(logs[0].name, QStringLiteral("Rank 0"));
    LogTail tail;
    tail.open(logs[0].path);
    ASSERT_TRUE(waitFor([&] { return !tail.text().isEmpty(); }));
    EXPECT_EQ(tail.text(), QStringLiteral("one\ntwo\n"));
    tail.setFollowing(true);
    std::ofstream(run.log_path(0), std::ios::app) << "three\n";
    ASSERT_TRUE(waitFor([&] { return tail.text().endsWith(QStringLiteral("three\n")); }));
    tail.open(QStringLiteral("/nowhere/rank-0.log"));
    ASSERT_TRUE(waitFor([&] { return !tail.problem().isEmpty(); }));
}

TEST(RunList, AStoreThatIsNotThereIsEmpty) {
    RunListModel list("/nowhere/at/all");
    ASSERT_TRUE(waitFor([&] { return list.isRead(); }));
    EXPECT_EQ(list.rowCount(), 0);
}

}  // namespace
}  // namespace plimsoll::ui
