// SPDX-License-Identifier: Apache-2.0
// What real worker processes do when they are stopped, killed, left alone, or given what cannot work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <fstream>
#include <thread>

#include "core/base/file.h"
#include "core/base/version.h"
#include "core/telemetry/contract/run_layout.h"
#include "tests/support/run_harness.h"

namespace plimsoll::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Faults : public ::testing::Test {
protected:
    Faults() : corpus_(write_corpus(folder_.path())) {}
    std::filesystem::path run(const std::string& name = "run") const { return folder_.path() / name; }
    Plan plan(std::int64_t ranks) const {
        Plan plan = small_plan("llama-tiny", corpus_);
        plan.layout.dp = plan.cluster.gpus_per_node = ranks;
        plan.layout.micro_batch = 8 / ranks;
        return plan;
    }
    /// Longer than any test waits.
    Plan endless(std::int64_t ranks) const {
        Plan endless = plan(ranks);
        endless.training.steps = 10'000'000;
        return endless;
    }

    TemporaryFolder folder_;
    std::filesystem::path corpus_;
};

TEST_F(Faults, SigtermEndsAllRanksAfterTheSameStepWithACheckpoint) {
    write_plan(run(), endless(2));
    Ranks ranks(run(), 2);
    ASSERT_TRUE(wait_for_points(run(), series::loss, 3));
    ranks.rank(1).signal(SIGTERM);  // one is enough: the ranks agree
    EXPECT_THAT(ranks.wait(), Each(0)) << ranks.rank(0).errors() << ranks.rank(1).errors();

    const auto store = recorded(run(), 2);
    const auto last = store.find(series::loss)->step(store.find(series::loss)->size() - 1);
    const auto* other = store.find("step_time@1");
    EXPECT_EQ(other->step(other->size() - 1), last);
    EXPECT_TRUE(std::filesystem::exists(checkpoint(run(), static_cast<int>(last)) / "model.safetensors"));
    ASSERT_EQ(events_of(store, EventKind::Stop).size(), 1U);
    EXPECT_EQ(events_of(store, EventKind::Stop)[0].step, last);
}

TEST_F(Faults, AStopEndsTheSampleThatIsBeingWritten) {
    Plan slow = endless(2);
    slow.model.preset.clear();
    slow.model.hidden_size = 512;
    slow.model.ffn_hidden_size = 2048;
    slow.model.num_layers = 8;
    slow.training.sample_every = 1;
    slow.training.sample_prompt = "";
    write_plan(run(), slow);
    Ranks ranks(run(), 2);
    // Rank 0 is at its first sample (160 bytes) soon after the first step is recorded, and for seconds.
    ASSERT_TRUE(wait_for_points(run(), series::loss, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    ranks.rank(0).signal(SIGTERM);
    ranks.rank(1).signal(SIGTERM);
    EXPECT_THAT(ranks.wait(), Each(0)) << ranks.rank(0).errors() << ranks.rank(1).errors();
    const auto store = recorded(run());
    ASSERT_EQ(events_of(store, EventKind::Sample).size(), 1U);
    // Characters, not bytes: an untrained model writes what is repaired to three-byte U+FFFD.
    const std::string& text = events_of(store, EventKind::Sample)[0].sentence;
    EXPECT_LT(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }), 80) << text;
    EXPECT_EQ(events_of(store, EventKind::Stop).at(0).step, 1U) << "no step more";
}

TEST_F(Faults, AStoppedRunGoesOnAsIfNothingHadHappened) {
    Plan whole = plan(2);
    whole.training.steps = 250;
    train(run("undisturbed"), whole);

    write_plan(run("stopped"), whole);
    {
        Ranks ranks(run("stopped"), 2);
        ASSERT_TRUE(wait_for_points(run("stopped"), series::loss, 2));
        ranks.rank(0).signal(SIGTERM);
        ranks.rank(1).signal(SIGTERM);
        EXPECT_THAT(ranks.wait(), Each(0));
    }
    train(run("stopped"), whole);
    const auto stopped = recorded(run("stopped"));
    ASSERT_EQ(events_of(stopped, EventKind::Stop).size(), 1U) << "the run was over before it could be stopped";
    ASSERT_EQ(events_of(stopped, EventKind::Resume).size(), 1U);
    EXPECT_EQ(events_of(stopped, EventKind::Resume)[0].step, events_of(stopped, EventKind::Stop)[0].step);
    EXPECT_EQ(values(stopped, series::loss), values(recorded(run("undisturbed")), series::loss));
    EXPECT_TRUE(bytes_of(checkpoint(run("stopped"), 250) / "model.safetensors") ==
                bytes_of(checkpoint(run("undisturbed"), 250) / "model.safetensors"));
}

TEST_F(Faults, TheOtherRanksEndWithAClearSentenceWhenOneIsKilled) {
    write_plan(run(), endless(3));
    Plan three = endless(3);
    three.layout.micro_batch = 2;
    write_plan(run(), three);
    Ranks ranks(run(), 3, {"--timeout", "20"});
    ASSERT_TRUE(wait_for_points(run(), series::loss, 2));
    ranks.rank(1).signal(SIGKILL);
    EXPECT_THAT(ranks.wait(), ElementsAre(1, 128 + SIGKILL, 1));
    // Nearly always Gloo tells a rank at once that its peer is gone; seen twice in some 250 runs under load, one went
    // on waiting (why is not known), and the time-out is there for it.
    for (const int rank : {0, 2}) {
        EXPECT_THAT(ranks.rank(rank).last_line(),
                    AllOf(StartsWith(fmt::format("plimsoll-worker: rank {}: another rank", rank)),
                          AnyOf(HasSubstr("the log of the rank that ended first tells the cause"),
                                HasSubstr("did not answer within 20.0 s"))));
    }
    EXPECT_EQ(events_of(recorded(run()), EventKind::Error).size(), 1U);
}

TEST_F(Faults, AHungRankIsGivenUpAfterTheTimeout) {
    write_plan(run(), endless(2));
    Ranks ranks(run(), 2, {"--timeout", "2"});
    ASSERT_TRUE(wait_for_points(run(), series::loss, 2));
    ranks.rank(1).signal(SIGSTOP);
    EXPECT_EQ(ranks.rank(0).wait(), 1);
    EXPECT_THAT(ranks.rank(0).last_line(),
                AllOf(HasSubstr("rank 0: another rank did not answer within 2.00 s"),
                      HasSubstr("rank 1 waits for nothing, so it has ended, is far behind or hangs")));
    ranks.rank(1).signal(SIGKILL);
}

TEST_F(Faults, AHealthyLongStepIsNeverGivenUp) {
    // Data-parallel ranks wait in an all-reduce, pipeline ranks for a message: rank 0 is at work more than twice as long as
    // anybody is waited for in silence.
    for (const bool pipeline : {false, true}) {
        for (const char* shared_memory : {"1", "0"}) {
            if (pipeline && *shared_memory == '1') continue;  // messages go through Gloo in any case
            SCOPED_TRACE(fmt::format("pipeline {}, shared memory {}", pipeline, shared_memory));
            const std::string name = fmt::format("run-{}-{}", pipeline, shared_memory);
            Plan slow = plan(2);
            if (pipeline) {
                slow.layout.dp = 1;
                slow.layout.pp = 2;
                slow.layout.micro_batch = 8;
            }
            slow.training.steps = 3;
            write_plan(run(name), slow);
            ::setenv("PLIMSOLL_SHARED_MEMORY", shared_memory, 1);
            Ranks ranks(run(name), 2, {"--timeout", "3", "--inject", "slow-rank@step=2,rank=0,ms=8000"});
            EXPECT_THAT(ranks.wait(), Each(0)) << ranks.rank(0).errors() << ranks.rank(1).errors();
            ::unsetenv("PLIMSOLL_SHARED_MEMORY");
            EXPECT_EQ(values(recorded(run(name)), series::loss).size(), 3U);
        }
    }
}

TEST_F(Faults, AStopInALongStepEndsTheRunAfterThatStep) {
    write_plan(run(), endless(2));
    Ranks ranks(run(), 2, {"--inject", "slow-rank@step=3,rank=0,ms=3000"});
    ASSERT_TRUE(wait_for_points(run(), series::loss, 2));
    ranks.rank(0).signal(SIGTERM);
    ranks.rank(1).signal(SIGTERM);
    EXPECT_THAT(ranks.wait(), Each(0)) << ranks.rank(0).errors() << ranks.rank(1).errors();
    EXPECT_EQ(events_of(recorded(run()), EventKind::Stop).at(0).step, 3U);
    EXPECT_TRUE(std::filesystem::exists(checkpoint(run(), 3) / "model.safetensors"));
}

TEST_F(Faults, ALogWithoutRoomDoesNotEndTheRunAndTheRecordsSayIt) {
    write_plan(run(), plan(1));
    std::filesystem::create_directories(RunLayout(run()).logs());
    Child child(worker_program(), {"--run", run().string()}, {}, "/dev/full", "/dev/full");
    EXPECT_EQ(child.wait(), 0);
    const auto store = recorded(run());
    EXPECT_EQ(values(store, series::loss).size(), 6U);
    const auto lost = events_of(store, EventKind::Damaged);
    ASSERT_EQ(lost.size(), 1U) << "said once";
    EXPECT_THAT(lost[0].sentence, HasSubstr("standard output (/dev/full) cannot be written any more"));
}

TEST_F(Faults, ARecordWithoutRoomEndsTheRunWithItsPlaceAndTheCheckpointsStay) {
    Plan saved = endless(1);
    saved.training.checkpoint_every = 100;
    write_plan(run(), saved);
    // The limit stands for a full disk: checkpoints of this model stay below it, the records grow beyond it.
    rlimit old{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
    const rlimit tight{320 * 1024, old.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    Child child(worker_program(), {"--run", run().string()}, {}, "/dev/null", folder_.path() / "err");
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
    EXPECT_EQ(child.wait(), 1);
    EXPECT_THAT(child.last_line(), AllOf(HasSubstr("cannot write " + RunLayout(run()).record(0).string()),
                                         HasSubstr("the file size limit is reached")));
    const auto store = recorded(run());
    const auto steps = static_cast<int>(values(store, series::loss).size());
    EXPECT_GT(steps, 100);
    EXPECT_TRUE(std::filesystem::exists(checkpoint(run(), steps / 100 * 100) / "model.safetensors"));
}

TEST_F(Faults, OutputOfTheWorkerThatCannotBeWrittenIsAnError) {
    for (const char* asked : {"--help", "--version"}) {
        Child child(worker_program(), {asked}, {}, "/dev/full", folder_.path() / "err");
        EXPECT_EQ(child.wait(), 1) << asked;
        EXPECT_THAT(child.last_line(), HasSubstr("cannot write /dev/full"));
    }
    EXPECT_EQ(Child(worker_program(), {"--nonsense"}, {}, "/dev/null", "/dev/full").wait(), 2);
}

TEST_F(Faults, AnOverflowIsSkippedOnAllRanksAndRateAndCountWait) {
    // accelerate 4242, Lightning 18828: the schedule follows the updates that were made, not the steps that were tried.
    Plan fp16 = plan(2);
    fp16.numerics.dtype = Dtype::Fp16;
    fp16.numerics.initial_scale_power = 24;
    fp16.numerics.hysteresis = 1;
    train(run(), fp16);
    const auto store = recorded(run(), 2);
    const auto overflows = events_of(store, EventKind::Overflow);
    ASSERT_GE(overflows.size(), 1U);
    EXPECT_THAT(overflows[0].sentence,
                HasSubstr("the update was skipped on all ranks, and the scale is now 8.38861e+06"));
    const auto scales = values(store, series::loss_scale), rates = values(store, series::lr),
               norms = values(store, series::grad_norm);
    ASSERT_EQ(scales.size(), 6 + overflows.size());
    EXPECT_EQ(values(store, "step_time@1").size(), scales.size());
    std::size_t updates = 0;
    for (std::size_t i = 0; i < scales.size(); ++i) {
        EXPECT_EQ(store.find(series::loss)->step(i), updates + 1);
        if (std::isfinite(norms[i])) {
            ++updates;
        } else if (i + 1 < scales.size()) {
            EXPECT_EQ(scales[i + 1], scales[i] / 2);
            EXPECT_EQ(rates[i + 1], rates[i]);
        }
    }
    EXPECT_EQ(updates, 6U);
    EXPECT_EQ(rates.front(), 5e-4);
    EXPECT_NEAR(rates.back(), 1e-4, 1e-12);
}

TEST_F(Faults, AnEndlessOverflowFailsWithTheCure) {
    // DeepSpeed 1599, 697: a run whose every step is skipped looks alive and learns nothing.
    Plan fp16 = plan(1);
    fp16.numerics.dtype = Dtype::Fp16;
    fp16.numerics.loss_scale = 1e30;
    write_plan(run(), fp16);
    Ranks ranks(run(), 1);
    EXPECT_THAT(ranks.wait(), ElementsAre(1));
    EXPECT_THAT(ranks.rank(0).last_line(),
                AllOf(HasSubstr("overflowed 10 steps in a row"), HasSubstr("lower numerics.loss_scale")));
    EXPECT_EQ(events_of(recorded(run()), EventKind::Overflow).size(), 10U);
}

TEST_F(Faults, ANonFiniteLossFailsAfterThreeStepsWithTheCure) {
    Plan wild = plan(2);
    wild.optimizer.lr = wild.optimizer.weight_decay = 1e3;  // w x (1 - lr x decay): a million times larger each step
    wild.lr.warmup_steps = 0;
    wild.training.steps = 1000;
    write_plan(run(), wild);
    Ranks ranks(run(), 2);
    EXPECT_THAT(ranks.wait(), ElementsAre(1, 1));
    EXPECT_THAT(ranks.rank(0).last_line(),
                AllOf(HasSubstr("not finite 3 times in a row"), HasSubstr("lower optimizer.lr (now 1000)")));
    EXPECT_EQ(events_of(recorded(run()), EventKind::Nonfinite).size(), 3U);
}

TEST_F(Faults, WhatCannotWorkIsRefusedWithCode2) {
    struct Case {
        const char* name;
        std::function<void(Plan&)> change;
        const char* sentence;
    };
    const std::vector<Case> cases{
        {"ranks", [](Plan& plan) { plan.layout.dp = plan.cluster.gpus_per_node = 2; },
         "= 2 ranks, and 1 rank was started"},
        {"corpus", [](Plan& plan) { plan.data.path = "/no/such/corpus.txt"; }, "/no/such/corpus.txt"},
        {"vocabulary", [](Plan& plan) { plan.model.vocab_size = 100; }, "model.vocab_size is 100"},
        {"gpu", [](Plan& plan) { plan.cluster.gpu = "A100 SXM4 80GB"; }, "the plan trains on A100 SXM4 80GB, but"},
    };
    for (const Case& each : cases) {
        SCOPED_TRACE(each.name);
        Plan changed = plan(1);
        changed.model.preset.clear();
        each.change(changed);
        write_plan(run(each.name), changed);
        Ranks ranks(run(each.name), 1);
        EXPECT_THAT(ranks.wait(), ElementsAre(2)) << ranks.rank(0).errors();
        EXPECT_THAT(ranks.rank(0).last_line(),
                    AllOf(StartsWith("plimsoll-worker: rank 0: "), HasSubstr(each.sentence)));
        EXPECT_FALSE(std::filesystem::exists(RunLayout(run(each.name)).checkpoints()));
    }
}

TEST_F(Faults, TheWorkerSaysHowItIsUsed) {
    const auto worker = [&](const std::vector<std::string>& arguments, const Environment& environment) {
        return Child(worker_program(), arguments, environment, folder_.path() / "out", folder_.path() / "err");
    };
    EXPECT_EQ(worker({"--help"}, {}).wait(), 0);
    EXPECT_THAT(bytes_of(folder_.path() / "out"), HasSubstr("--store"));
    EXPECT_EQ(worker({"--version"}, {}).wait(), 0);
    EXPECT_EQ(bytes_of(folder_.path() / "out"), std::string("plimsoll-worker ") + version() + "\n");
    EXPECT_EQ(worker({"--nonsense"}, {}).wait(), 2);
    EXPECT_EQ(worker({}, {}).wait(), 2);
    EXPECT_THAT(bytes_of(folder_.path() / "err"), HasSubstr("plimsoll-worker DIR"));
    EXPECT_EQ(worker({"--run", run().string()}, {}).wait(), 2);
    EXPECT_THAT(bytes_of(folder_.path() / "err"), HasSubstr("plan.json"));
    EXPECT_EQ(worker({"--run", run().string()}, {{"RANK", "two"}, {"WORLD_SIZE", "2"}}).wait(), 2);
    EXPECT_THAT(bytes_of(folder_.path() / "err"), HasSubstr("RANK is \"two\""));
    EXPECT_EQ(worker({"--store", "--host", "192.0.2.1"}, {}).wait(), 2);  // TEST-NET-1: no machine has it (RFC 5737)
    EXPECT_THAT(bytes_of(folder_.path() / "err"), HasSubstr("cannot listen at 192.0.2.1"));
}

TEST_F(Faults, AStoreThatIsNotThereIsNamed) {
    write_plan(run(), plan(2));
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);  // taken, but nobody listens
    const auto port = std::to_string(ntohs(address.sin_port));
    Child child(
        worker_program(), {"--run", run().string(), "--timeout", "1"},
        {{"RANK", "0"}, {"LOCAL_RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "127.0.0.1"}, {"MASTER_PORT", port}},
        folder_.path() / "out", folder_.path() / "err");
    EXPECT_EQ(child.wait(), 1);
    EXPECT_THAT(child.last_line(), HasSubstr("cannot reach the store at 127.0.0.1:" + port));
    ::close(fd);
}

TEST_F(Faults, ACrashLeavesALastWord) {
    write_plan(run(), endless(1));
    Ranks ranks(run(), 1);
    ASSERT_TRUE(wait_for_points(run(), series::loss, 1));
    ranks.rank(0).signal(SIGSEGV);
    EXPECT_THAT(ranks.wait(), ElementsAre(128 + SIGSEGV));
    EXPECT_THAT(ranks.rank(0).last_line(),
                StartsWith("plimsoll-worker: rank 0: crashed (segmentation fault, signal 11)"));
}

TEST_F(Faults, TheStoreEndsWithItsParent) {
    Store store;
    EXPECT_GT(store.port(), 0);
    EXPECT_EQ(store.close(), 0);
}

/// State letter of a process ("R", "S", "Z"), or "" when it is gone.
std::string process_state(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(stat, text);
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos ? "" : text.substr(name_end + 2, 1);
}

TEST_F(Faults, AWorkerDiesWithItsSupervisor) {
    write_plan(run(), endless(1));
    ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // so that the orphan can be waited for here
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t supervisor = ::fork();
    if (supervisor == 0) {
        Child worker(worker_program(), {}, {{"PLIMSOLL_RUN", run().string()}}, run() / "out", run() / "err");
        const pid_t pid = worker.pid();
        if (::write(pipe[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
        for (;;) ::pause();
    }
    pid_t worker = 0;
    ASSERT_EQ(::read(pipe[0], &worker, sizeof worker), static_cast<ssize_t>(sizeof worker));
    ASSERT_TRUE(wait_for_points(run(), series::loss, 1));
    EXPECT_NE(process_state(worker), "");
    ::kill(supervisor, SIGKILL);
    ::waitpid(supervisor, nullptr, 0);
    int status = 0;
    ASSERT_EQ(::waitpid(worker, &status, 0), worker);
    EXPECT_TRUE(WIFSIGNALED(status));
    ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace plimsoll::testing
