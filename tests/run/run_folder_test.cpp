// SPDX-License-Identifier: Apache-2.0
#include "core/run/run_folder.h"
#include "core/base/clock.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <future>
#include <set>

#include "core/run/run_lock.h"
#include "core/run/run_store.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class RunFolderTest : public RunTest {
protected:
    void expect_refused(const std::filesystem::path& path, bool resume, const std::string& words) {
        const auto run = RunFolder::create(path, plan, resume);
        ASSERT_FALSE(run) << words;
        EXPECT_EQ(run.error().kind, Error::Kind::BadInput);
        EXPECT_THAT(run.error().message, HasSubstr(words));
    }

    /// Names, sizes and contents of everything below.
    std::string picture(const std::filesystem::path& path) {
        std::map<std::string, std::string> files;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
            files[entry.path().string()] = entry.is_regular_file() ? contents_of(entry.path()) : "";
        }
        std::string all;
        for (const auto& [name, contents] : files) all += name + ":" + contents + "\n";
        return all;
    }
};

TEST_F(RunFolderTest, NewRunHoldsItsPlanAndWaitsForItsSupervisor) {
    const RunFolder run = make_run("deep/below");
    EXPECT_EQ(run.name(), "below");
    EXPECT_EQ(*run.plan(), plan);
    const auto state = run.state();
    ASSERT_TRUE(state);
    EXPECT_EQ(state->status, RunStatus::Starting);
    EXPECT_EQ(state->world_size, 2);
    EXPECT_NEAR(state->started, wall_clock(), 60);
    EXPECT_FALSE(run.live());
    EXPECT_EQ(run.telemetry_path(1).filename(), "rank-1.rec");
    EXPECT_TRUE(RunFolder::open((run.path() / "").string())) << "a path with a slash at its end";
}

TEST_F(RunFolderTest, NewRunIsTheOwnersAlone) {
    EXPECT_EQ(std::filesystem::status(make_run("private").path()).permissions(), std::filesystem::perms::owner_all);
    // A folder that the user made keeps the rights that he gave.
    std::filesystem::create_directory(folder / "shared");
    std::filesystem::permissions(folder / "shared", std::filesystem::perms(0750));
    EXPECT_EQ(std::filesystem::status(make_run("shared").path()).permissions(), std::filesystem::perms(0750));
}

TEST_F(RunFolderTest, ARunThatSomebodyElsePreparedIsNotResumedThroughItsLinks) {
    const RunFolder run = make_run();
    put_contents(folder / "precious", "precious");
    for (const auto& place : {run.log_path(0), run.layout().state(), run.control_path(), run.telemetry_path(0)}) {
        const std::string kept = std::filesystem::exists(place) ? contents_of(place) : "";
        std::filesystem::remove(place);
        for (const char* target : {"precious", "not-there-yet.pth"}) {
            std::filesystem::create_symlink(folder / target, place);
            const auto resumed = RunFolder::create(run.path(), plan, true);
            EXPECT_FALSE(resumed) << place;
            EXPECT_EQ(contents_of(folder / "precious"), "precious");
            EXPECT_FALSE(std::filesystem::exists(folder / "not-there-yet.pth"));
            std::filesystem::remove(place);
        }
        if (!kept.empty()) put_contents(place, kept);
    }
    EXPECT_TRUE(RunFolder::create(run.path(), plan, true));
}

TEST_F(RunFolderTest, ExistingRunIsNeverOverwritten) {
    const RunFolder run = make_run();
    const std::string before = picture(run.path());
    expect_refused(run.path(), false, "holds a run already");
    EXPECT_EQ(picture(run.path()), before);
    const auto lock = RunLock::take(run.lock_path());
    expect_refused(run.path(), false, "in use by a live run");
    expect_refused(run.path(), true, "in use by a live run");
    EXPECT_EQ(picture(run.path()), before);
}

TEST_F(RunFolderTest, FolderOfOtherThingsIsLeftAlone) {
    std::filesystem::create_directories(folder / "thesis");
    put_contents(folder / "thesis/chapter", "1");
    const std::string before = picture(folder / "thesis");
    expect_refused(folder / "thesis", false, "is not empty and holds no run");
    expect_refused(folder / "thesis", true, "nothing to resume");
    expect_refused(folder / "thesis/chapter", false, "it is a file");
    EXPECT_EQ(picture(folder / "thesis"), before);
    expect_refused(folder / "none", true, "nothing to resume");
    EXPECT_FALSE(std::filesystem::exists(folder / "none"));
}

TEST_F(RunFolderTest, EmptyFolderCanBecomeARun) {
    std::filesystem::create_directories(folder / "empty");
    EXPECT_TRUE(RunFolder::create(folder / "empty", plan, false));
}

TEST_F(RunFolderTest, PlaceThatCannotBeWrittenIsNamedAndNothingStays) {
    expect_refused("/proc/plimsoll-run", false, "/proc/plimsoll-run");
    put_contents(folder / "file", "");
    expect_refused(folder / "file/run", false, "file/run");
}

TEST_F(RunFolderTest, ResumeTakesTheNewPlanAndARefusedOneChangesNothing) {
    const RunFolder run = make_run();
    plan.training.steps = 1234;
    ASSERT_TRUE(RunFolder::create(run.path(), plan, true));
    EXPECT_EQ(run.plan()->training.steps, 1234);
    plan.optimizer.lr = 0.5;
    const std::string before = picture(run.path());
    expect_refused(run.path(), true, "optimizer.lr was 0.001 and is 0.5 now");
    EXPECT_EQ(picture(run.path()), before);
}

TEST_F(RunFolderTest, ResumeForgetsOldCommands) {
    const RunFolder run = make_run();
    ASSERT_TRUE(run.request("stop"));
    ASSERT_TRUE(run.request("kill"));
    EXPECT_EQ(contents_of(run.control_path()), "stop\nkill\n");
    ASSERT_TRUE(RunFolder::create(run.path(), plan, true));
    EXPECT_FALSE(std::filesystem::exists(run.control_path()));
}

TEST_F(RunFolderTest, RelativeCorpusStaysFoundFromAnywhere) {
    const auto here = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    plan.data.path = "corpus.txt";
    const RunFolder run = make_run();
    std::filesystem::current_path(here);
    EXPECT_EQ(run.plan()->data.path, std::filesystem::canonical(folder / "corpus.txt").string());
}

TEST_F(RunFolderTest, RunningWithoutASupervisorIsReportedAsFailed) {
    const RunFolder run = make_run();
    RunState state;
    state.status = RunStatus::Running;
    state.supervisor_pid = ::getpid();  // a live process, but it does not hold the lock
    ASSERT_TRUE(run.write_state(state));
    EXPECT_EQ(run.state()->status, RunStatus::Failed);
    EXPECT_THAT(run.state()->reason, HasSubstr("the supervisor died"));
    const auto lock = RunLock::take(run.lock_path());
    EXPECT_EQ(run.state()->status, RunStatus::Running);
}

TEST_F(RunFolderTest, SupervisorThatNeverCameIsReported) {
    const RunFolder run = make_run();
    RunState state = *run.state();
    state.started -= 3600;
    ASSERT_TRUE(run.write_state(state));
    EXPECT_EQ(run.state()->status, RunStatus::Failed);
    EXPECT_THAT(run.state()->reason, HasSubstr("never started"));
}

TEST_F(RunFolderTest, StateComesBackAsWritten) {
    const RunFolder run = make_run();
    for (const RunStatus status : {RunStatus::Finished, RunStatus::Stopped, RunStatus::Failed}) {
        const RunState state{status, "rank 1 \"died\"\n", 7, 42, 1.5, 2.5};
        ASSERT_TRUE(run.write_state(state));
        const auto read = run.state();
        EXPECT_EQ(read->status, status);
        EXPECT_EQ(read->reason, state.reason);
        EXPECT_EQ(read->world_size, 7);
        EXPECT_EQ(read->supervisor_pid, 42);
        EXPECT_EQ(read->started, 1.5);
        EXPECT_EQ(read->ended, 2.5);
    }
}

TEST_F(RunFolderTest, DamagedStateIsASentenceNotACrash) {
    const RunFolder run = make_run();
    for (const char* text :
         {"", "[]", "{}", "{\"status\": 3}", "{\"status\": \"sunk\"}", "{\"status\": \"failed\"", "\xff\xfe"}) {
        put_contents(run.layout().state(), text);
        const auto state = run.state();
        ASSERT_FALSE(state) << text;
        EXPECT_THAT(state.error().message, HasSubstr("run.json"));
    }
    put_contents(run.layout().state(), R"({"status": "failed", "world_size": 1e300, "started": "now", "reason": 7})");
    EXPECT_EQ(run.state()->status, RunStatus::Failed);
}

TEST_F(RunFolderTest, LockDiesWithItsHolder) {
    const RunFolder run = make_run();
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const auto lock = RunLock::take(run.lock_path());
        [[maybe_unused]] const ssize_t n = ::write(ready[1], lock ? "y" : "n", 1);
        while (true) ::pause();
    }
    char answer = 0;
    ASSERT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    EXPECT_TRUE(run.live());
    EXPECT_FALSE(RunLock::take(run.lock_path()));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_FALSE(run.live());
    EXPECT_TRUE(RunLock::take(run.lock_path()));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST_F(RunFolderTest, StoreListsRunsNewestFirstAndNothingElse) {
    EXPECT_TRUE(list_runs().empty()) << "a store that is not there yet";
    for (int i = 0; i < 300; ++i) {
        const auto path = folder / fmt::format("store/run-{:03}", (i * 7) % 300);
        std::filesystem::create_directories(path);
        put_contents(path / "plan.json", "{ \"plimsoll\": 1 }");
        put_contents(path / "run.json", fmt::format("{{ \"status\": \"finished\", \"started\": {} }}", 1000 + i));
    }
    std::filesystem::create_directories(folder / "store/not-a-run");
    put_contents(folder / "store/file", "");
    std::filesystem::create_directories(folder / "store/damaged");
    put_contents(folder / "store/damaged/plan.json", "{");
    put_contents(folder / "store/damaged/run.json", "{");
    const auto runs = list_runs();
    ASSERT_EQ(runs.size(), 301U);
    for (int i = 0; i < 300; ++i) {
        EXPECT_EQ(runs[static_cast<std::size_t>(i)].name(), fmt::format("run-{:03}", ((299 - i) * 7) % 300));
    }
    EXPECT_EQ(runs.back().name(), "damaged") << "it is shown, so that it can be looked at";
    EXPECT_EQ(find_run("latest")->name(), runs[0].name());
    EXPECT_EQ(find_run("run-123")->path(), folder / "store/run-123");
    EXPECT_EQ(find_run((folder / "store/run-123").string())->name(), "run-123");
    EXPECT_THAT(find_run("run-1234").error().message, HasSubstr("did you mean"));
    EXPECT_THAT(find_run((folder / "store/not-a-run").string()).error().message, HasSubstr("is no run folder"));
}

TEST_F(RunFolderTest, NewRunsAreNamedAfterModelAndTimeAndNeverTaken) {
    plan.model.preset = "llama-tiny";
    const auto first = new_run_path(plan);
    EXPECT_EQ(first.parent_path(), folder / "store");
    EXPECT_THAT(first.filename().string(), ::testing::MatchesRegex("llama-tiny-[0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{6}"));
    std::filesystem::create_directories(first);
    EXPECT_NE(new_run_path(plan), first);
    plan.model.preset = "";
    plan.model.name = "../../etc/My Model!";
    EXPECT_THAT(new_run_path(plan).filename().string(), ::testing::StartsWith("etc-my-model-"));
    EXPECT_EQ(new_run_path(plan).parent_path(), folder / "store");
}

TEST_F(RunFolderTest, RunsMadeInTheSameSecondHaveFoldersOfTheirOwn) {
    std::vector<std::future<Result<RunFolder>>> made;
    for (int i = 0; i < 8; ++i) made.push_back(std::async(std::launch::async, [&] { return create_in_store(plan); }));
    std::set<std::string> paths;
    for (auto& each : made) {
        const auto run = each.get();
        ASSERT_TRUE(run) << run.error().message;
        EXPECT_EQ(*run->plan(), plan);
        paths.insert(run->path().string());
    }
    EXPECT_EQ(paths.size(), 8U);
    EXPECT_EQ(list_runs().size(), 8U);
}

}  // namespace
}  // namespace plimsoll
