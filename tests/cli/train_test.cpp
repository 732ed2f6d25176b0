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

using ::testing::AllOf;
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
    EXPECT_THAT(output.out, HasSubstr("stopped on request; `plimsoll train --resume --run " + path("run") + "`"));
    ranks_do("ok");
    EXPECT_EQ(plimsoll({"train", "--resume", "--run", path("run"), "--steps", "400"}).code, 0);
    EXPECT_EQ(RunFolder(folder / "run").plan()->training.steps, 400);
}

TEST_F(TrainTest, OneInterruptWaitsForTheStepAndSaysHowToWaitNoLonger) {
    ranks_do("step 2500");
    Process process = start(train());
    ASSERT_TRUE(training());
    ::kill(process.pid(), SIGINT);
    const Output output = ended(process);
    EXPECT_EQ(output.code, 0) << output.err;
    EXPECT_THAT(
        output.out,
        AllOf(HasSubstr("stopping, nothing is lost: step 1 is the first and has taken "),
              HasSubstr("; then its checkpoint is saved. Ctrl-C again does not wait for the step (its work is lost "
                        "then), a third one kills the ranks at once\n"),
              HasSubstr("stopped on request; `plimsoll train --resume")));
    EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step-00000007"));
}

TEST_F(TrainTest, SecondInterruptDoesNotWaitForTheStepAndTheThirdForNothing) {
    for (const int count : {2, 3}) {
        SCOPED_TRACE(count);
        ranks_do(count == 2 ? "step 60000" : "save 60000");
        std::filesystem::remove_all(folder / "run");
        Process process = start(train());
        ASSERT_TRUE(training());
        ::kill(process.pid(), SIGINT);
        ASSERT_TRUE(wait_for(RunStatus::Stopping));
        for (int i = 1; i < count; ++i) {
            ::usleep(400'000);
            ::kill(process.pid(), SIGINT);
        }
        const Output output = ended(process);
        EXPECT_EQ(output.code, 0) << output.err;
        EXPECT_THAT(output.out, HasSubstr("Ctrl-C again kills the ranks at once\n"));
        if (count == 2) {
            EXPECT_THAT(output.out, HasSubstr("2 ranks had not ended after 1.5 s and were killed"));
        } else {
            EXPECT_THAT(output.out,
                        AllOf(HasSubstr("stopping now, when this is done: the checkpoint of step 7 is being "
                                        "saved: 4 B so far"),
                              HasSubstr("the ranks are killed\n"), HasSubstr("2 ranks were killed")));
        }
    }
}

TEST_F(TrainTest, ATerminalThatClosesTwiceOrPassesCtrlCOnLosesNoWork) {
    // SIGHUP comes from the shell and from the kernel, SIGINT also from the program that started this one.
    for (const int number : {SIGHUP, SIGTERM, SIGINT}) {
        SCOPED_TRACE(number);
        ranks_do("step 2500");
        std::filesystem::remove_all(folder / "run");
        Process process = start(train());
        ASSERT_TRUE(training());
        ::kill(process.pid(), number);
        ::usleep(number == SIGINT ? 20'000 : 400'000);
        ::kill(process.pid(), number);
        EXPECT_EQ(ended(process).code, 0);
        EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step-00000007"));
    }
}

TEST_F(TrainTest, StopCommandWaitsForTheStepAndStopNowDoesNot) {
    ranks_do("step 3000");
    ASSERT_EQ(plimsoll(train({"--detach"})).code, 0);
    ASSERT_TRUE(training());
    const Output stopped = plimsoll({"stop", path("run")});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    EXPECT_THAT(stopped.out, AllOf(HasSubstr("run is stopping: step 1 is the first and has taken "),
                                   HasSubstr("(`plimsoll stop --now run` does not wait)\n"),
                                   HasSubstr("run: stopped on request\n")));
    EXPECT_TRUE(std::filesystem::exists(folder / "run/checkpoints/step-00000007"));

    std::filesystem::remove_all(folder / "run");
    ranks_do("step 60000");
    ASSERT_EQ(plimsoll(train({"--detach"})).code, 0);
    ASSERT_TRUE(training());
    // Ctrl-C ends the waiting, not the run.
    Process waiting = start({"stop", path("run")});
    ASSERT_TRUE(wait_for(RunStatus::Stopping));
    ::kill(waiting.pid(), SIGINT);
    const Output left = ended(waiting);
    EXPECT_EQ(left.code, 1);
    EXPECT_THAT(left.err, HasSubstr("run was asked to stop and has not ended yet"));
    EXPECT_TRUE(RunFolder(folder / "run").live());
    const Output now = plimsoll({"stop", "--now", path("run")});
    EXPECT_EQ(now.code, 0) << now.err;
    EXPECT_THAT(now.out, HasSubstr("run: stopped on request; 2 ranks had not ended after 1.5 s and were killed"));
}

TEST_F(TrainTest, PatienceReachesTheRanks) {
    ranks_do("ok");
    ASSERT_EQ(plimsoll(train({"--timeout", "900"})).code, 0);
    EXPECT_THAT(contents_of(folder / "run/logs/rank-1.log"), HasSubstr(" --timeout 900\n"));
    std::filesystem::remove_all(folder / "run");
    ASSERT_EQ(plimsoll(train({"--timeout", "900", "--detach"})).code, 0);
    ASSERT_TRUE(wait_for(RunStatus::Finished));
    EXPECT_THAT(contents_of(folder / "run/logs/rank-1.log"), HasSubstr(" --timeout 900\n"));
    expect_refused({"train", "--timeout", "0"}, "--timeout");
}

TEST_F(TrainTest, ARunWhoseOutputHasNoRoomGoesOnToItsEnd) {
    ranks_do("ok");
    const std::string command = PLIMSOLL_BIN_DIR "/plimsoll train --data " + path("corpus.txt") + " --run ";
    EXPECT_EQ(WEXITSTATUS(std::system((command + path("out-run") + " > /dev/full 2> " + path("err")).c_str())), 1);
    EXPECT_EQ(RunFolder(folder / "out-run").state()->status, RunStatus::Finished);
    EXPECT_THAT(contents_of(folder / "err"), HasSubstr("cannot write /dev/full: No space left on device"));
    EXPECT_EQ(WEXITSTATUS(std::system((command + path("err-run") + " 2> /dev/full > /dev/null").c_str())), 0);
    EXPECT_EQ(RunFolder(folder / "err-run").state()->status, RunStatus::Finished);
    // Its reader goes.
    EXPECT_EQ(WEXITSTATUS(std::system(("bash -c 'set -o pipefail; " + command + path("pipe") + " | head -0'").c_str())),
              0);
    EXPECT_EQ(RunFolder(folder / "pipe").state()->status, RunStatus::Finished);

    ranks_do("exit 1 the reactor is on fire");
    const Output failed = plimsoll(train());
    EXPECT_EQ(failed.code, 1);
    EXPECT_EQ(WEXITSTATUS(std::system((command + path("both") + " > /dev/full 2> /dev/full").c_str())), 1);
    EXPECT_EQ(RunFolder(folder / "both").state()->status, RunStatus::Failed);
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

TEST_F(TrainTest, ResumeTakesWhatLeavesTheTrainingAsItIsAndRefusesTheRest) {
    ranks_do("ok");
    ASSERT_EQ(plimsoll(train()).code, 0);
    const std::string before = contents_of(folder / "run/plan.json");
    const std::vector<std::string> resume{"train", "--resume", "--run", path("run")};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), resume.begin(), resume.end());
        return more;
    };
    expect_refused(with({"--set", "adapter.alpha=64"}),
                   "adapter.alpha was 32.0 and is 64.0 now, which cannot change since");
    expect_refused(with({"--set", "layout.micro_batch=1"}), "another global batch");
    expect_refused(with({"--extend", "constant"}), "give --steps with it");
    expect_refused({"train", "--extend", "constant", "--run", path("new")}, "give --resume with it");
    expect_refused({"train", "--from-scratch", "--run", path("new")}, "give --resume with it");
    EXPECT_EQ(contents_of(folder / "run/plan.json"), before);
    EXPECT_FALSE(std::filesystem::exists(folder / "new"));

    std::filesystem::copy(folder / "corpus.txt", folder / "moved.txt");
    ASSERT_EQ(plimsoll(with({"--data", path("moved.txt"), "--ranks", "1", "--set", "training.threads=2",
                             "training.checkpoint_every=9", "--steps", "600", "--extend", "constant"}))
                  .code,
              0);
    const auto plan = RunFolder(folder / "run").plan();
    EXPECT_EQ(plan->data.path, path("moved.txt"));
    EXPECT_EQ(plan->layout.dp, 1);
    EXPECT_EQ(plan->training.threads, 2);
    EXPECT_EQ(plan->training.checkpoint_every, 9);
    EXPECT_EQ(plan->lr.extension, LrExtension::Constant);
    EXPECT_EQ(plan->lr.extended_from, 300);
    EXPECT_DOUBLE_EQ(plan->lr.extended_ratio, plan->lr.min_ratio);
}

TEST_F(TrainTest, BuildWithoutAnEngineSaysSo) {
    ::setenv("PLIMSOLL_WORKER", "/nowhere/plimsoll-worker", 1);
    const Output output = plimsoll(train());
    EXPECT_EQ(output.code, 2);
    EXPECT_THAT(output.err, HasSubstr("/nowhere/plimsoll-worker is not there"));
}

}  // namespace
}  // namespace plimsoll
