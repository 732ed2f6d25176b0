// SPDX-License-Identifier: Apache-2.0
#include "core/run/processes/last_words.h"

#include "core/run/processes/oom_kills.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <cerrno>

#include "core/base/write_error.h"
#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

TEST(LastWords, AreTheLastLinesThatSaySomething) {
    const TempFolder folder;
    put_contents(folder / "log", "one\ntwo\n\n  three\t\x1b[31m!\n\n \nfour\n\n");
    EXPECT_EQ(last_words(folder / "log", 0), "two / three [31m! / four");
    EXPECT_EQ(last_words(folder / "log", 8), "three [31m! / four");
    EXPECT_EQ(last_words(folder / "log", 1000), "");
    EXPECT_EQ(last_words(folder / "none", 0), "");
}

TEST(LastWords, OfAnEndlessLineAreCutBetweenCharacters) {
    const TempFolder folder;
    std::string line;
    for (int i = 0; i < 100'000; ++i) line += "ü";
    put_contents(folder / "log", "before\n" + line);
    const std::string words = last_words(folder / "log", 0);
    EXPECT_LE(words.size(), 410U);
    EXPECT_EQ(words.substr(words.size() - 5), "ü…");
}

TEST(LastWords, EndIsToldInWords) {
    EXPECT_EQ(how_it_ended({.code = 3, .signal = 0}), "ended with exit code 3");
    EXPECT_EQ(how_it_ended({.code = 0, .signal = SIGKILL}), "was killed by signal 9 (SIGKILL)");
    EXPECT_EQ(how_it_ended({.code = 0, .signal = SIGSEGV}), "was killed by signal 11 (SIGSEGV)");
}

TEST(LastWords, CureFitsTheCause) {
    const ProcessEnd one{.code = 1, .signal = 0};
    // What LibTorch's CPU allocator says when there is no memory (c10/core/impl/alloc_cpu.cpp).
    EXPECT_THAT(what_to_do(one, "DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes", "log"),
                HasSubstr("layout.micro_batch smaller"));
    EXPECT_THAT(what_to_do(one, "cannot write x: No space left on device", "log"), HasSubstr("free some room"));
    EXPECT_EQ(what_to_do(one, write_error("/proc/x", ENOSPC), "log"), "then resume the run") << "said once";
    EXPECT_EQ(what_to_do(one, write_error("/proc/x", EFBIG), "log"), "then resume the run");
    for (const ProcessEnd& end : {one, ProcessEnd{.code = 0, .signal = SIGXFSZ}}) {
        EXPECT_THAT(what_to_do(end, end.signal == 0 ? "cannot write x: File too large" : "", "log"),
                    HasSubstr("file size limit"));
    }
    EXPECT_THAT(what_to_do({.code = 0, .signal = SIGSEGV}, "", "logs/rank-1.log"), HasSubstr("logs/rank-1.log"));
    EXPECT_THAT(what_to_do({.code = 127, .signal = 0}, "error while loading shared libraries: libc10.so", "log"),
                HasSubstr("packaging/setup"));
}

TEST(LastWords, AKillFromOutsideIsNotAShortageOfMemory) {
    const ProcessEnd killed{.code = 0, .signal = SIGKILL};
    EXPECT_THAT(what_to_do(killed, "", "log", OomKiller::Struck), HasSubstr("no memory left and killed it"));
    EXPECT_THAT(what_to_do(killed, "", "log", OomKiller::Unknown), HasSubstr("usually the system had no memory left"));
    const std::string other = what_to_do(killed, "", "log", OomKiller::Quiet);
    EXPECT_THAT(other, HasSubstr("somebody ended it"));
    EXPECT_EQ(other.find("no memory left"), std::string::npos) << "the doctor takes that for its sign";
    EXPECT_EQ(other.find("micro_batch"), std::string::npos);
}

TEST(OomKills, AreCountedWhereTheKernelCountsThem) {
    const TempFolder folder;
    put_contents(folder / "vmstat", "nr_free_pages 4711\noom_kill 3\ndrop_pagecache 0\n");
    EXPECT_EQ(oom_kills(folder / "vmstat"), 3U);
    put_contents(folder / "vmstat", "nr_free_pages 4711\n");
    EXPECT_EQ(oom_kills(folder / "vmstat"), std::nullopt);
    EXPECT_EQ(oom_kills(folder / "none"), std::nullopt);
}

TEST(LastWords, LostPeerIsAFollowUpAndACrashIsNot) {
    const ProcessEnd one{.code = 1, .signal = 0};
    EXPECT_TRUE(
        is_follow_up(one, "[/build/gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4242"));
    EXPECT_TRUE(is_follow_up(one, "Timed out waiting 1800000ms for recv operation to complete"));
    EXPECT_FALSE(is_follow_up(one, "std::bad_alloc"));
    EXPECT_FALSE(is_follow_up({.code = 0, .signal = SIGSEGV}, "Connection closed by peer"));
}

}  // namespace
}  // namespace plimsoll
