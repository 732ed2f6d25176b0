// SPDX-License-Identifier: Apache-2.0
// plimsoll train, stop and runs, with fake workers.
#include <signal.h>

#include "core/base/json.h"
#include "core/plan/plan_io.h"
#include "core/plan/starting_plan.h"
#include "core/run/run_folder.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class TrainTest : public CliTest {
protected:
    void SetUp() override {
        CliTest::SetUp();
        use_fake_worker();
    }

    void ranks_do(const char* what) { ::setenv("FAKE_RANKS", what, 1); }

    std::vector<std::string> train(const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"train", "--data", path("corpus.txt"), "--run", path("run")};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return arguments;
    }

    bool wait_for(RunStatus status) {
        for (int i = 0; i < 1000; ++i) {
            const auto state = RunFolder(folder / "run").state();
            if (state && state->status == status) return true;
            ::usleep(10'000);
        }
        return false;
    }

    bool training() {
        for (int i = 0; i < 1000; ++i) {
            if (contents_of(folder / "run/logs/rank-0.log").find("training") != std::string::npos &&
                contents_of(folder / "run/logs/rank-1.log").find("training") != std::string::npos &&
                wait_for(RunStatus::Running)) {
                return true;
            }
            ::usleep(10'000);
        }
        return false;
    }
};

TEST_F(TrainTest, OptionsReachThePlanOfTheRun) {
    ranks_do("ok");
    const Output output = plimsoll(train({"--ranks", "4", "--steps", "7", "--set", "optimizer.lr=0.25"}));
    ASSERT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("run " + path("run")));
    EXPECT_THAT(output.out, HasSubstr("finished in "));
    const auto plan = RunFolder(folder / "run").plan();
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->layout.dp, 4);
    EXPECT_EQ(plan->layout.global_batch(), plan_from_argument("cpu-demo")->plan.layout.global_batch());
    EXPECT_EQ(plan->training.steps, 7);
    EXPECT_EQ(plan->optimizer.lr, 0.25);
    EXPECT_EQ(plan->data.path, path("corpus.txt"));
}

TEST_F(TrainTest, RunsGoToTheStoreAndAreListed) {
    ranks_do("ok");
    ASSERT_EQ(plimsoll({"train", "--data", path("corpus.txt")}).code, 0);
    const Json list = json_of(plimsoll({"runs", "--json"}));
    ASSERT_EQ(list.size(), 1U);
    EXPECT_EQ(list[0]["status"], "finished");
    EXPECT_EQ(list[0]["world_size"], 2);
    EXPECT_THAT(list[0]["path"].get<std::string>(), ::testing::StartsWith(path("store/llama-tiny-")));
    EXPECT_THAT(plimsoll({"runs"}).out, HasSubstr(list[0]["name"].get<std::string>()));
}

TEST_F(TrainTest, CrashIsOneSentenceAndExitCodeOne) {
    ::setenv("FAKE_RANK_0", "train", 1);
    ::setenv("FAKE_RANK_1", "exit 1 plimsoll-worker: rank 1: the reactor is on fire", 1);
    const Output output = plimsoll(train());
    EXPECT_EQ(output.code, 1);
    EXPECT_THAT(output.err, HasSubstr("plimsoll: rank 1 ended with exit code 1; its last words: "));
    EXPECT_THAT(output.err, HasSubstr("the reactor is on fire"));
    EXPECT_THAT(output.out, ::testing::Not(HasSubstr("the reactor is on fire"))) << "said once";
}

TEST_F(TrainTest, InterruptStopsTheRunAndLeavesItResumable) {
    ranks_do("train");
    Process process = start(train());
    ASSERT_TRUE(training());
    ::kill(process.pid(), SIGINT);
    const Output output = ended(process);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out,
                HasSubstr("stopped when it was asked to; `plimsoll train --resume --run " + path("run") + "`"));
    ranks_do("ok");
    EXPECT_EQ(plimsoll({"train", "--resume", "--run", path("run"), "--steps", "400"}).code, 0);
    EXPECT_EQ(RunFolder(folder / "run").plan()->training.steps, 400);
}

TEST_F(TrainTest, SecondInterruptEndsItAtOnce) {
    ranks_do("ignore");
    Process process = start(train());
    ASSERT_TRUE(training());
    ::kill(process.pid(), SIGINT);
    ASSERT_TRUE(wait_for(RunStatus::Stopping));
    ::kill(process.pid(), SIGINT);
    const Output output = ended(process);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(output.out, HasSubstr("its workers were killed"));
}

TEST_F(TrainTest, StopCommandEndsADetachedRun) {
    ranks_do("train");
    const Output started = plimsoll(train({"--detach"}));
    ASSERT_EQ(started.code, 0) << started.err;
    EXPECT_THAT(started.out, HasSubstr("plimsoll stop " + path("run")));
    ASSERT_TRUE(training());
    const Output stopped = plimsoll({"stop", path("run")});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_THAT(stopped.out, HasSubstr("stopped"));
    EXPECT_FALSE(RunFolder(folder / "run").live());
    EXPECT_THAT(plimsoll({"stop", path("run")}).out, HasSubstr("is not running: it is stopped"));
}

TEST_F(TrainTest, KilledSupervisorIsTold) {
    ranks_do("train");
    Process process = start(train());
    ASSERT_TRUE(training());
    ::kill(process.pid(), SIGKILL);
    ended(process);
    const Json list = json_of(plimsoll({"watch", path("run"), "--json"}));
    EXPECT_EQ(list["status"], "failed");
    EXPECT_THAT(list["reason"].get<std::string>(), HasSubstr("the supervisor died"));
}

TEST_F(TrainTest, BuildWithoutAnEngineSaysSo) {
    ::setenv("PLIMSOLL_WORKER", "/nowhere/plimsoll-worker", 1);
    const Output output = plimsoll(train());
    EXPECT_EQ(output.code, 2);
    EXPECT_THAT(output.err, HasSubstr("/nowhere/plimsoll-worker is not there"));
}

}  // namespace
}  // namespace plimsoll
