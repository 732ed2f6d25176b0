// SPDX-License-Identifier: Apache-2.0
// A run folder of the test's own, its fake workers, and a look at what processes are left.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "core/run/processes/supervisor.h"
#include "core/run/run_folder.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {

class RunTest : public ::testing::Test {
protected:
    void SetUp() override {
        ::unsetenv("FAKE_STORE");
        ::unsetenv("FAKE_RANKS");
        for (const char* rank : {"FAKE_RANK_0", "FAKE_RANK_1", "FAKE_RANK_2"}) ::unsetenv(rank);
        std::filesystem::create_directories(folder / "pids");
        ::setenv("FAKE_PIDS", (folder / "pids").c_str(), 1);
        ::setenv("PLIMSOLL_WORKER", (std::filesystem::path(PLIMSOLL_BIN_DIR) / "fake_worker").c_str(), 1);
        ::setenv("PLIMSOLL_RUNS", (folder / "store").c_str(), 1);
        std::string text;
        for (int i = 0; i < 2000; ++i) text += "In the beginning was the word. ";
        put_contents(folder / "corpus.txt", text);
        plan.data.path = (folder / "corpus.txt").string();
    }

    void TearDown() override {
        // A test that failed must not leave processes behind.
        for (const char* name : {"rank-0", "rank-1", "rank-2", "orphan", "store"}) {
            if (const pid_t pid = pid_of(name); pid > 0) ::kill(pid, SIGKILL);
        }
    }

    void ranks_do(const std::string& what) { ::setenv("FAKE_RANKS", what.c_str(), 1); }
    void rank_does(int rank, const std::string& what) {
        ::setenv(("FAKE_RANK_" + std::to_string(rank)).c_str(), what.c_str(), 1);
    }

    RunFolder make_run(const std::string& name = "run") {
        auto run = RunFolder::create(folder / name, plan, false);
        EXPECT_TRUE(run) << run.error().message;
        return *run;
    }

    RunState supervised(const RunFolder& run, SupervisorOptions options = {}) {
        const auto state = supervise(run, options);
        EXPECT_TRUE(state) << state.error().message;
        return state ? *state : RunState{};
    }

    pid_t pid_of(const std::string& name) const {
        std::ifstream in(folder / "pids" / name);
        pid_t pid = 0;
        in >> pid;
        return in ? pid : 0;
    }

    /// Nobody by that name was started, or it is gone (a zombie counts as there).
    bool gone(const std::string& name) const {
        const pid_t pid = pid_of(name);
        return pid == 0 || ::kill(pid, 0) != 0;
    }

    template <class Condition>
    static bool eventually(Condition condition) {
        for (int i = 0; i < 1000; ++i) {
            if (condition()) return true;
            ::usleep(10'000);
        }
        return false;
    }

    TempFolder folder;
    Plan plan;
};

}  // namespace plimsoll
