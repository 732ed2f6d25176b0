// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "core/run/processes/detached.h"
#include "tests/support/file_without_room.h"
#include "tests/support/run_fixture.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class DetachedTest : public RunTest {
protected:
    const std::filesystem::path program = std::filesystem::path(PLIMSOLL_BIN_DIR) / "fake_plimsoll";
};

TEST_F(DetachedTest, RunOutlivesTheProgramThatStartedIt) {
    ranks_do("train");
    const RunFolder run = make_run();
    EXPECT_EQ(run.state()->status, RunStatus::Starting);
    // fake_plimsoll starts it and is gone when system() returns.
    ASSERT_EQ(std::system((program.string() + " start " + run.path().string()).c_str()), 0);
    ASSERT_TRUE(eventually([&] { return run.state()->status == RunStatus::Running; })) << run.state()->reason;
    EXPECT_TRUE(run.live());
    ASSERT_TRUE(run.request("stop"));
    ASSERT_TRUE(eventually([&] { return run.state()->status == RunStatus::Stopped; })) << run.state()->reason;
    EXPECT_TRUE(eventually([&] { return gone("rank-0") && gone("rank-1") && gone("store"); }));
}

TEST_F(DetachedTest, StarterGetsNoZombie) {
    ranks_do("ok");
    const RunFolder run = make_run();
    ASSERT_TRUE(start_detached(run, program));
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_TRUE(eventually([&] { return run.state()->status == RunStatus::Finished; })) << run.state()->reason;
}

TEST_F(DetachedTest, KilledSupervisorTakesItsWorkersAlongAndTheRunSaysSo) {
    ranks_do("ignore");
    const RunFolder run = make_run();
    ASSERT_TRUE(start_detached(run, program));
    ASSERT_TRUE(eventually([&] { return run.state()->status == RunStatus::Running; })) << run.state()->reason;
    ASSERT_TRUE(eventually([&] { return pid_of("rank-0") > 0 && pid_of("rank-1") > 0; }));
    ::kill(static_cast<pid_t>(run.state()->supervisor_pid), SIGKILL);
    ASSERT_TRUE(eventually([&] { return !run.live(); }));
    const auto state = run.state();
    EXPECT_EQ(state->status, RunStatus::Failed);
    EXPECT_THAT(state->reason, HasSubstr("the supervisor died"));
    EXPECT_THAT(state->reason, HasSubstr("--resume --run " + run.path().string()));
    EXPECT_TRUE(eventually([&] { return gone("rank-0") && gone("rank-1") && gone("store"); }));
    // It can go on from there.
    ranks_do("ok");
    ASSERT_TRUE(RunFolder::create(run.path(), plan, true));
    EXPECT_EQ(supervised(run).status, RunStatus::Finished);
}

TEST_F(DetachedTest, ProgramThatIsNotThereIsAnErrorAndTheRunSaysSo) {
    const RunFolder run = make_run();
    const auto started = start_detached(run, "/nowhere/plimsoll");
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().message, HasSubstr("/nowhere/plimsoll"));
    EXPECT_EQ(run.state()->status, RunStatus::Failed);
    EXPECT_EQ(run.state()->reason, started.error().message);
}

TEST_F(DetachedTest, LogThatCannotBeMadeIsNamed) {
    const RunFolder run = make_run();
    std::filesystem::create_directory(run.log_path(supervisor_rank));
    const auto started = start_detached(run, program);
    ASSERT_FALSE(started);
    EXPECT_THAT(started.error().message, HasSubstr("cannot write " + run.log_path(supervisor_rank).string()));
    EXPECT_EQ(run.state()->reason, started.error().message);
}

TEST_F(DetachedTest, LogWithoutRoomEndsNothing) {
    ranks_do("exit 1 the reactor is on fire");
    const RunFolder run = make_run();
    make_file_without_room(run.log_path(supervisor_rank));
    ASSERT_TRUE(start_detached(run, program));
    ASSERT_TRUE(eventually([&] { return run.state()->status == RunStatus::Failed; })) << run.state()->reason;
    EXPECT_THAT(run.state()->reason, HasSubstr("the reactor is on fire"));
}

}  // namespace
}  // namespace plimsoll
