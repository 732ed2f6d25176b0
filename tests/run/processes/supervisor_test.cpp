// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/supervisor.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>

#include "core/run/run_lock.h"
#include "core/telemetry/reader.h"
#include "core/telemetry/writer.h"
#include "tests/support/file_without_room.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Clock = std::chrono::steady_clock;

/// Seconds: far above what a busy machine adds to a tick, far below the minute for which a test would wait in vain.
constexpr double at_once = 20;

class SupervisorTest : public RunTest {
protected:
    /// Asks for a stop as soon as every rank is at work; gives the time from there to the end.
    std::pair<RunState, double> stopped_at_work(const RunFolder& run, const std::function<void()>& ask) {
        Clock::time_point asked;
        bool done = false;
        SupervisorOptions options;
        options.wants_stop = [&] {
            if (done || pid_of("rank-0") == 0 || pid_of("rank-1") == 0) return StopWish::None;
            if (contents_of(run.log_path(0)).find("training") == std::string::npos) return StopWish::None;
            if (contents_of(run.log_path(1)).find("training") == std::string::npos) return StopWish::None;
            done = true;
            asked = Clock::now();
            ask();
            return StopWish::None;
        };
        const RunState state = supervised(run, options);
        return {state, std::chrono::duration<double>(Clock::now() - asked).count()};
    }

    void expect_nobody_left() {
        for (const char* name : {"rank-0", "rank-1", "rank-2", "store", "orphan"}) EXPECT_TRUE(gone(name)) << name;
        EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child of this process is left";
    }

    std::vector<RecordedKind> event_kinds(const RunFolder& run) {
        std::vector<RecordedKind> kinds;
        const auto batch = TelemetryReader(run.telemetry_path(-1)).poll();
        if (batch) {
            for (const Event& event : batch->events) kinds.push_back(event.kind);
        }
        return kinds;
    }
};

TEST_F(SupervisorTest, RanksThatEndWellFinishTheRun) {
    ranks_do("ok");
    const RunFolder run = make_run();
    const RunState state = supervised(run);
    EXPECT_EQ(state.status, RunStatus::Finished) << state.reason;
    EXPECT_EQ(state.reason, "");
    EXPECT_EQ(state.world_size, 2);
    EXPECT_GT(state.ended, state.started);
    EXPECT_EQ(run.state()->status, RunStatus::Finished);
    EXPECT_EQ(event_kinds(run), (std::vector<RecordedKind>{EventKind::Supervise, EventKind::Finished}));
    EXPECT_FALSE(run.live());
    expect_nobody_left();
}

TEST_F(SupervisorTest, WorkersAreToldWhereTheyStandAsByTorchrun) {
    ranks_do("ok");
    plan.training.threads = 3;
    const RunFolder run = make_run();
    supervised(run);
    const std::string path = run.path().string();
    EXPECT_THAT(contents_of(run.log_path(0)), HasSubstr("rank 0 of 2, local 0 of 2, store 127.0.0.1:45678, run " +
                                                        path + ", threads 3, arguments --run " + path));
    EXPECT_THAT(contents_of(run.log_path(1)), HasSubstr("rank 1 of 2, local 1 of 2, store 127.0.0.1:45678"));
}

TEST_F(SupervisorTest, OneRankNeedsNoStore) {
    ranks_do("ok");
    ::setenv("FAKE_STORE", "dies", 1);
    plan.layout.dp = 1;
    plan.cluster.gpus_per_node = 1;
    EXPECT_EQ(supervised(make_run()).status, RunStatus::Finished);
    EXPECT_EQ(pid_of("store"), 0);
}

TEST_F(SupervisorTest, StopEndsAfterTheStepWithoutKilling) {
    ranks_do("train");
    const RunFolder run = make_run();
    const auto [state, seconds] = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("stop")); });
    EXPECT_EQ(state.status, RunStatus::Stopped);
    EXPECT_EQ(state.reason, "stopped on request");
    EXPECT_LT(seconds, at_once);
    EXPECT_EQ(event_kinds(run),
              (std::vector<RecordedKind>{EventKind::Supervise, EventKind::StopRequested, EventKind::Stopped}));
    EXPECT_FALSE(std::filesystem::exists(run.control_path())) << "an old command must not stop the next run";
    expect_nobody_left();
}

TEST_F(SupervisorTest, EventsCarryTheStepAtWhichTheyHappened) {
    ranks_do("train");
    const RunFolder run = make_run();
    const auto record = [&](std::uint64_t step) {
        auto writer = TelemetryWriter::open(run.telemetry_path(0));
        ASSERT_TRUE(writer) << writer.error().message;
        ASSERT_TRUE(writer->points(step, 1, {{series::loss, 3}}));
    };
    record(57);  // of the start before
    stopped_at_work(run, [&] {
        record(61);
        EXPECT_TRUE(run.request("stop"));
    });
    const auto batch = TelemetryReader(run.telemetry_path(-1)).poll();
    ASSERT_TRUE(batch);
    ASSERT_EQ(batch->events.size(), 3U);
    EXPECT_EQ(batch->events[0].step, 57U);
    EXPECT_EQ(batch->events[1].step, 61U);
    EXPECT_EQ(batch->events[2].step, 61U);
}

TEST_F(SupervisorTest, StopWaitsForTheStepAndItsCheckpointHoweverLongTheyTake) {
    for (const char* what : {"step 2500", "save 2500"}) {  // longer than the grace of a stop that does not wait
        SCOPED_TRACE(what);
        ranks_do(what);
        const RunFolder run = make_run(std::string(what, 4));
        const auto [state, seconds] = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("stop")); });
        EXPECT_EQ(state.status, RunStatus::Stopped);
        EXPECT_EQ(state.reason, "stopped on request");
        EXPECT_GT(seconds, 2.4);
        EXPECT_TRUE(std::filesystem::exists(run.layout().checkpoint(7)));
        expect_nobody_left();
    }
}

TEST_F(SupervisorTest, StopNowWaitsForTheGraceAloneWhenWorkersIgnoreIt) {
    ranks_do("ignore");
    const RunFolder run = make_run();
    const auto [state, seconds] = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("now")); });
    EXPECT_EQ(state.status, RunStatus::Stopped);
    EXPECT_LT(seconds, at_once);
    EXPECT_GT(seconds, 1.4);
    EXPECT_EQ(
        state.reason,
        "stopped on request; 2 ranks had not ended after 1.5 s and were killed, so nothing is kept, as there is no "
        "checkpoint yet");
    expect_nobody_left();
}

TEST_F(SupervisorTest, StopNowLeavesTheStepButNotACheckpointThatIsBeingWritten) {
    ranks_do("step 60000");
    const RunFolder step = make_run("step");
    EXPECT_LT(stopped_at_work(step, [&] { EXPECT_TRUE(step.request("stop\nnow")); }).second, at_once);
    EXPECT_FALSE(std::filesystem::exists(step.layout().checkpoint(7)));

    ranks_do("save 3000");
    const RunFolder save = make_run("save");
    const auto [state, seconds] = stopped_at_work(save, [&] { EXPECT_TRUE(save.request("now")); });
    EXPECT_GT(seconds, 2.9);
    EXPECT_EQ(state.reason, "stopped on request");
    EXPECT_TRUE(std::filesystem::exists(save.layout().checkpoint(7)));
    expect_nobody_left();
}

TEST_F(SupervisorTest, TheGraceBeginsWhereTheCheckpointEnds) {
    // It ends just before the grace would have been over a second time.
    ranks_do("save 2900 then 900");
    const RunFolder run = make_run();
    const RunState state = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("now")); }).first;
    EXPECT_EQ(state.reason, "stopped on request");
    expect_nobody_left();
}

TEST_F(SupervisorTest, ACheckpointWhoseWriterDiedIsNotWaitedFor) {
    rank_does(0, "saves 200 signal 9");
    rank_does(1, "ignore");
    const RunFolder run = make_run();
    const auto begin = Clock::now();
    const RunState state = supervised(run);
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, HasSubstr("rank 0"));
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), at_once);
    expect_nobody_left();
}

TEST_F(SupervisorTest, KillDoesNotWaitEvenForACheckpoint) {
    for (const char* what : {"ignore", "save 60000"}) {
        SCOPED_TRACE(what);
        ranks_do(what);
        const RunFolder run = make_run(std::string(what, 4));
        const auto [state, seconds] = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("stop\nkill")); });
        EXPECT_EQ(state.status, RunStatus::Stopped);
        EXPECT_THAT(state.reason, HasSubstr("2 ranks were killed"));
        EXPECT_LT(seconds, at_once);
        expect_nobody_left();
    }
}

TEST_F(SupervisorTest, ARankThatFailsWhileItStopsMakesTheRunFailed) {
    // What it had learned since the last checkpoint is lost, which a script has to see.
    rank_does(0, "then exit 2 plimsoll-worker: rank 0: cannot write x: No space left on device");
    rank_does(1, "train");
    const RunFolder run = make_run();
    const auto [state, seconds] = stopped_at_work(run, [&] { EXPECT_TRUE(run.request("stop")); });
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason,
                AllOf(HasSubstr("the run was asked to stop, but rank 0 ended with exit code 2"),
                      HasSubstr("No space left on device; the disk is full"), HasSubstr("there is no checkpoint yet")));
    expect_nobody_left();
}

TEST_F(SupervisorTest, LastWordsAreHeardThoughTheLogHasNoRoom) {
    ranks_do("train");
    rank_does(1, "tells 2 plimsoll-worker: rank 1: cannot write model.safetensors: No space left on device");
    const RunFolder run = make_run();
    make_file_without_room(run.log_path(1));
    make_file_without_room(run.log_path(0));
    const RunState state = supervised(run);
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, AllOf(HasSubstr("rank 1 ended with exit code 2; its last words: plimsoll-worker: rank 1: "
                                              "cannot write model.safetensors"),
                                    HasSubstr("the disk is full")));
    expect_nobody_left();
}

TEST_F(SupervisorTest, TheReasonIsKeptThoughTheDiskIsFull) {
    // A folder in which no file can be made stands for the full disk; the old file can be written.
    ranks_do("exit 1 std::bad_alloc");
    const RunFolder run = make_run();
    RunState state = *run.state();
    ASSERT_TRUE(run.write_state(state));
    std::filesystem::permissions(run.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    const pid_t child = ::fork();
    if (child == 0) {
        // Root may write everywhere.
        if (::geteuid() == 0 && (::chown(run.path().c_str(), 65534, 65534) != 0 ||
                                 ::chown(run.layout().state().c_str(), 65534, 65534) != 0 ||
                                 ::chmod(folder.path().c_str(), 0755) != 0 || ::seteuid(65534) != 0))
            ::_exit(3);
        state.status = RunStatus::Failed;
        state.reason = "the disk at /runs is full";
        ::_exit(run.write_state(state) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    std::filesystem::permissions(run.path(), std::filesystem::perms::owner_all);
    ASSERT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(run.state()->status, RunStatus::Failed);
    EXPECT_EQ(run.state()->reason, "the disk at /runs is full");
}

TEST_F(SupervisorTest, WorkersAreToldTheirPatience) {
    ranks_do("ok");
    const RunFolder run = make_run();
    SupervisorOptions options;
    options.rank_timeout = 7.5;
    supervised(run, options);
    EXPECT_THAT(contents_of(run.log_path(0)), HasSubstr("arguments --run " + run.path().string() + " --timeout 7.5"));
}

TEST_F(SupervisorTest, StopIsHeardWhileTheStoreStarts) {
    ::setenv("FAKE_STORE", "silent", 1);
    ranks_do("train");
    const RunFolder run = make_run();
    const auto begin = Clock::now();
    SupervisorOptions options;
    options.wants_stop = [&] { return pid_of("store") > 0 ? StopWish::AfterStep : StopWish::None; };
    const RunState state = supervised(run, options);
    EXPECT_EQ(state.status, RunStatus::Stopped);
    EXPECT_LT(std::chrono::duration<double>(Clock::now() - begin).count(), at_once);
    EXPECT_EQ(pid_of("rank-0"), 0) << "no rank is started any more";
    expect_nobody_left();
}

TEST_F(SupervisorTest, StopBeforeTheSupervisorCameUpCounts) {
    ranks_do("train");
    const RunFolder run = make_run();
    ASSERT_TRUE(run.request("stop"));
    EXPECT_EQ(supervised(run).status, RunStatus::Stopped);
    expect_nobody_left();
}

TEST_F(SupervisorTest, CrashNamesTheRankItsLastWordsAndTheCure) {
    rank_does(0, "train");
    rank_does(1, "exit 1 plimsoll-worker: rank 1: std::bad_alloc");
    const RunFolder run = make_run();
    const RunState state = supervised(run);
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, HasSubstr("rank 1 ended with exit code 1; its last words: "));
    EXPECT_THAT(state.reason,
                HasSubstr("first line / plimsoll-worker: rank 1: std::bad_alloc; it ran out of memory: make "
                          "layout.micro_batch smaller"));
    EXPECT_EQ(run.state()->reason, state.reason);
    EXPECT_EQ(event_kinds(run), (std::vector<RecordedKind>{EventKind::Supervise, EventKind::Failed}));
    expect_nobody_left();
}

TEST_F(SupervisorTest, KilledWorkerIsReportedWithItsSignal) {
    rank_does(0, "ignore");
    rank_does(1, "after 200 signal 9");
    const RunState state = supervised(make_run());
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, HasSubstr("rank 1 was killed by signal 9 (SIGKILL)"));
    EXPECT_THAT(state.reason, HasSubstr("somebody ended it")) << "no memory was short";
    expect_nobody_left();
}

TEST_F(SupervisorTest, FirstRankToFailIsBlamedNotThoseThatLostTheirPeer) {
    // Rank 0 is seen first, yet rank 1 is why.
    rank_does(0, "after 100 exit 1 rank 0: Connection closed by peer [127.0.0.1]:4242");
    rank_does(1, "after 250 signal 11");
    const RunState state = supervised(make_run());
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, HasSubstr("rank 1 was killed by signal 11 (SIGSEGV)"));
    EXPECT_THAT(state.reason, Not(HasSubstr("closed by peer")));
    expect_nobody_left();
}

TEST_F(SupervisorTest, LastWordsOfAnEarlierStartAreNotQuoted) {
    plan.layout.dp = 1;
    plan.cluster.gpus_per_node = 1;
    ranks_do("exit 1 words of the first start");
    const RunFolder run = make_run();
    EXPECT_THAT(supervised(run).reason, HasSubstr("words of the first start"));
    ranks_do("signal 6");
    ASSERT_TRUE(RunFolder::create(run.path(), plan, true));
    EXPECT_THAT(supervised(run).reason, AllOf(HasSubstr("SIGABRT"), Not(HasSubstr("words of the first start"))));
    EXPECT_THAT(contents_of(run.log_path(0)), HasSubstr("words of the first start")) << "the log itself is kept";
}

TEST_F(SupervisorTest, StoreThatFailsIsToldApartFromTheRanks) {
    ranks_do("train");
    ::setenv("FAKE_STORE", "dies", 1);
    EXPECT_THAT(supervised(make_run("a")).reason, AllOf(HasSubstr("--store"), HasSubstr("address in use")));
    ::setenv("FAKE_STORE", "babbles", 1);
    EXPECT_THAT(supervised(make_run("b")).reason, HasSubstr("--store"));
    ::setenv("FAKE_STORE", "silent", 1);
    SupervisorOptions options;
    options.store_timeout = 0.3;
    EXPECT_THAT(supervised(make_run("c"), options).reason, HasSubstr("gave no port"));
    ::setenv("FAKE_STORE", "short", 1);
    const RunFolder run = make_run("d");
    EXPECT_THAT(supervised(run).reason,
                AllOf(HasSubstr("--store"), HasSubstr("`plimsoll train --resume --run " + run.path().string() + "`")));
    expect_nobody_left();
}

TEST_F(SupervisorTest, WhatAWorkerLeavesBehindGoesToo) {
    rank_does(0, "orphan");
    rank_does(1, "after 300 exit 1 the end");
    const RunState state = supervised(make_run());
    EXPECT_THAT(state.reason, HasSubstr("rank 1"));
    ASSERT_GT(pid_of("orphan"), 0);
    // It is init's child now and may be a zombie there for a moment.
    EXPECT_TRUE(eventually([&] {
        return gone("orphan") ||
               contents_of("/proc/" + std::to_string(pid_of("orphan")) + "/stat").find(") Z ") != std::string::npos;
    }));
}

TEST_F(SupervisorTest, RunThatIsLiveIsRefusedAndLeftAlone) {
    const RunFolder run = make_run();
    const auto lock = RunLock::take(run.lock_path());
    ASSERT_TRUE(lock);
    const std::string before = contents_of(run.layout().state());
    const auto state = supervise(run, {});
    ASSERT_FALSE(state);
    EXPECT_EQ(state.error().kind, Error::Kind::BadInput);
    EXPECT_THAT(state.error().message, HasSubstr("in use by a live run"));
    EXPECT_EQ(contents_of(run.layout().state()), before);
}

TEST_F(SupervisorTest, WhatCannotStartSaysWhyInTheRunToo) {
    const auto expect_refused = [&](const RunFolder& run, const std::string& words) {
        const auto state = supervise(run, {});
        ASSERT_FALSE(state) << words;
        EXPECT_EQ(state.error().kind, Error::Kind::BadInput) << state.error().message;
        EXPECT_THAT(state.error().message, HasSubstr(words));
        EXPECT_EQ(run.state()->status, RunStatus::Failed);
        EXPECT_EQ(run.state()->reason, state.error().message);
        EXPECT_EQ(pid_of("store"), 0) << "nothing is started";
    };
    const RunFolder run = make_run("corpus");
    std::filesystem::remove(folder / "corpus.txt");
    expect_refused(run, "corpus.txt");
    put_contents(folder / "corpus.txt", "short");
    expect_refused(make_run("short"), "corpus.txt");
    put_contents(folder / "corpus.txt", std::string(100'000, 'x'));
    ::setenv("PLIMSOLL_WORKER", "/nowhere/plimsoll-worker", 1);
    expect_refused(make_run("worker"), "/nowhere/plimsoll-worker is not there");
}

TEST_F(SupervisorTest, WorkerThatCannotBeExecutedIsNamed) {
    put_contents(folder / "not-a-program", "x");
    std::filesystem::permissions(folder / "not-a-program", std::filesystem::perms::owner_all);
    ::setenv("PLIMSOLL_WORKER", (folder / "not-a-program").c_str(), 1);
    const RunState state = supervised(make_run());
    EXPECT_EQ(state.status, RunStatus::Failed);
    EXPECT_THAT(state.reason, HasSubstr("cannot start"));
    EXPECT_THAT(state.reason, HasSubstr("not-a-program"));
}

TEST_F(SupervisorTest, NoDescriptorOfTheParentReachesTheWorkers) {
    const int leak = ::dup(1);  // without close-on-exec
    ranks_do("train");
    const RunFolder run = make_run();
    std::string descriptors;
    stopped_at_work(run, [&] {
        for (const auto& entry :
             std::filesystem::directory_iterator("/proc/" + std::to_string(pid_of("rank-0")) + "/fd")) {
            descriptors += entry.path().filename().string() + " ";
        }
        EXPECT_TRUE(run.request("stop"));
    });
    ::close(leak);
    EXPECT_EQ(descriptors.size(), std::string("0 1 2 3 ").size()) << "3: last words; " << descriptors;
}

}  // namespace
}  // namespace plimsoll
