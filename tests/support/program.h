// SPDX-License-Identifier: Apache-2.0
// Runs the real plimsoll and gives what it printed.
#pragma once

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/run/processes/process.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {

struct Output {
    int code = -1;
    std::string out, err;
};

class CliTest : public ::testing::Test {
protected:
    void SetUp() override {
        ::setenv("PLIMSOLL_RUNS", (folder / "store").c_str(), 1);
        ::setenv("FAKE_PIDS", folder.path().c_str(), 1);
        ::unsetenv("PLIMSOLL_WORKER");
        ::unsetenv("FAKE_STORE");
        for (const char* who : {"FAKE_RANKS", "FAKE_RANK_0", "FAKE_RANK_1"}) ::unsetenv(who);
        std::string text;
        for (int i = 0; i < 2000; ++i) text += "In the beginning was the word. ";
        put_contents(folder / "corpus.txt", text);
    }

    void use_fake_worker() {
        ::setenv("PLIMSOLL_WORKER", (std::filesystem::path(PLIMSOLL_BIN_DIR) / "fake_worker").c_str(), 1);
    }

    Process start(const std::vector<std::string>& arguments) {
        ProcessOptions options;
        options.arguments = {PLIMSOLL_BIN_DIR "/plimsoll"};
        options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
        std::filesystem::remove(folder / "out");
        std::filesystem::remove(folder / "err");
        const auto out = LogFile::open(folder / "out"), err = LogFile::open(folder / "err");
        options.out = out->fd.get();
        options.err = err->fd.get();
        auto process = Process::start(options);
        EXPECT_TRUE(process) << process.error().message;
        return std::move(*process);
    }

    Output ended(Process& process) {
        while (!process.end()) ::usleep(5'000);
        const ProcessEnd end = *process.end();
        return {end.signal != 0 ? 128 + end.signal : end.code, contents_of(folder / "out"),
                contents_of(folder / "err")};
    }

    Output plimsoll(const std::vector<std::string>& arguments) {
        Process process = start(arguments);
        return ended(process);
    }

    Json json_of(const Output& output) {
        EXPECT_EQ(output.code, 0) << output.err;
        auto json = parse_json(output.out, "output");
        EXPECT_TRUE(json) << json.error().message;
        return json ? *json : Json();
    }

    /// Exit code 2, nothing on standard output, one line on standard error that says the words.
    void expect_refused(const std::vector<std::string>& arguments, const std::string& words) {
        const Output output = plimsoll(arguments);
        const std::string what = ::testing::PrintToString(arguments);
        EXPECT_EQ(output.code, 2) << what << output.err;
        EXPECT_EQ(output.out, "") << what;
        EXPECT_THAT(output.err, ::testing::HasSubstr(words)) << what;
        EXPECT_THAT(output.err, ::testing::StartsWith("plimsoll: ")) << what;
        EXPECT_EQ(std::count(output.err.begin(), output.err.end(), '\n'), 1) << what << output.err;
    }

    std::string path(const std::string& name) { return (folder / name).string(); }

    TempFolder folder;
};

}  // namespace plimsoll
