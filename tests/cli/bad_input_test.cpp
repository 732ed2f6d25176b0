// SPDX-License-Identifier: Apache-2.0
// What a person may get wrong: one clear sentence, exit code 2, nothing overwritten, nothing left behind.
#include <sys/stat.h>

#include "core/run/run_lock.h"
#include "tests/support/program.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class BadInputTest : public CliTest {
protected:
    void expect_all_refuse(const std::vector<std::string>& plan, const std::string& words) {
        for (std::vector<std::string> command :
             {std::vector<std::string>{"estimate"}, {"export", "deepspeed"}, {"train", "--run", path("run")}}) {
            command.insert(command.end(), plan.begin(), plan.end());
            expect_refused(command, words);
        }
        EXPECT_FALSE(std::filesystem::exists(folder / "run"));
    }
};

TEST_F(BadInputTest, WrongJsonSaysWhere) {
    put_contents(folder / "plan.json", "{\n  \"plimsoll\": 1,\n  \"layout\" {}\n}");
    expect_all_refuse({path("plan.json")}, "plan.json, line 3");
    put_contents(folder / "plan.json", "");
    expect_all_refuse({path("plan.json")}, "plan.json");
    put_contents(folder / "plan.json", R"({"plimsoll": 1, "layout": {"dp": "two"}})");
    expect_all_refuse({path("plan.json")}, "layout.dp");
}

TEST_F(BadInputTest, MissingFileNamesTheNearestPreset) {
    expect_all_refuse({path("none.json")}, "none.json");
    expect_refused({"estimate", "llama-7"}, "did you mean \"llama-7b\"?");
}

TEST_F(BadInputTest, FolderOrDeviceIsNoPlan) {
    expect_all_refuse({folder.path().string()}, "folder");
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    expect_all_refuse({path("pipe")}, "not a regular file");
}

TEST_F(BadInputTest, ImpossiblePlansSayWhatToChange) {
    expect_all_refuse({"llama-tiny", "--set", "model.num_heads=5"}, "5");
    expect_all_refuse({"llama-tiny", "--set", "layout.tp=8", "layout.dp=1", "cluster.gpus_per_node=8"}, "tp");
    expect_all_refuse({"cpu-demo", "--set", "layout.dp=3"}, "dp");
    expect_all_refuse({"cpu-demo", "--set", "layot.dp=3"}, "did you mean \"layout.dp\"?");
    expect_all_refuse({"cpu-demo", "--set", "layout.dp=many"}, "layout.dp");
    expect_refused({"train", "--ranks", "3", "--run", path("run")}, "does not divide among 3 ranks");
    expect_refused({"train", "--ranks", "0x", "--run", path("run")}, "--ranks");
    expect_refused({"train", "--steps", "0", "--run", path("run")}, "--steps is 0");
    expect_refused({"estimate", "llama-2-70b-64xh100", "--gpus", "12"}, "multiple of 16");
    expect_refused({"estimate", "--gpu", "A10000"}, "A10000");
}

TEST_F(BadInputTest, WhatTheEngineCannotTrainYetIsSaidAtOnce) {
    const auto expect_untrainable = [&](std::vector<std::string> plan, const std::string& words) {
        plan.insert(plan.begin(), {"train", "--run", path("run")});
        expect_refused(plan, words);
        EXPECT_FALSE(std::filesystem::exists(folder / "run"));
    };
    expect_untrainable({"t5-11b"}, "encoder-decoder");
    expect_untrainable({"cpu-demo", "--set", "model.activation=relu"}, "model.activation");
}

TEST_F(BadInputTest, CorpusThatCannotBeUsedIsNamed) {
    const auto expect_no_corpus = [&](const std::string& data, const std::string& words) {
        expect_refused({"train", "--data", data, "--run", path("run")}, words);
        EXPECT_FALSE(std::filesystem::exists(folder / "run"));
    };
    expect_no_corpus(path("none.txt"), "none.txt");
    put_contents(folder / "short.txt", "In the beginning");
    expect_no_corpus(path("short.txt"), "short.txt");
    put_contents(folder / "empty.txt", "");
    expect_no_corpus(path("empty.txt"), "empty.txt");
    std::filesystem::create_directories(folder / "nothing");
    expect_no_corpus(path("nothing"), "nothing");
}

TEST_F(BadInputTest, RunFolderInUseIsLeftAlone) {
    use_fake_worker();
    ::setenv("FAKE_RANKS", "ok", 1);
    ASSERT_EQ(plimsoll({"train", "--data", path("corpus.txt"), "--run", path("run")}).code, 0);
    const std::string plan = contents_of(folder / "run/plan.json"), state = contents_of(folder / "run/run.json");
    expect_refused({"train", "--data", path("corpus.txt"), "--run", path("run")}, "holds a run already");
    expect_refused({"train", "--resume", "--run", path("run"), "--set", "optimizer.lr=1"},
                   "optimizer.lr was 0.003 and is 1");
    {
        const auto lock = RunLock::take(folder / "run/lock");
        ASSERT_TRUE(lock);
        expect_refused({"train", "--data", path("corpus.txt"), "--run", path("run")}, "in use by a live run");
        expect_refused({"train", "--resume", "--run", path("run")}, "in use by a live run");
    }
    EXPECT_EQ(contents_of(folder / "run/plan.json"), plan);
    EXPECT_EQ(contents_of(folder / "run/run.json"), state);
}

TEST_F(BadInputTest, DiskThatIsTooFullIsToldBeforeAnythingIsMade) {
    expect_refused({"train", "--data", path("corpus.txt"), "--run", path("run"), "--set",
                    "training.keep_checkpoints=1000000", "training.checkpoint_every=1", "training.steps=1000000"},
                   "the disk is too full");
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
    expect_refused({"export", "deepspeed", "-o", "/dev/full/ds.json"}, "/dev/full/ds.json");
}

TEST_F(BadInputTest, EmptyValuesAreNotTakenForLeftOutOnes) {
    expect_refused({"train", "--run", ""}, "--run is empty");
    expect_refused({"train", "--data", "", "--run", path("run")}, "--data is empty");
    expect_refused({"estimate", ""}, "PLAN is empty");
    expect_refused({"estimate", "llama-7b", "--gpu", ""}, "--gpu is empty");
    expect_refused({"export", "deepspeed", "llama-7b", "-o", ""}, "--output is empty");
    expect_refused({"import", "hf", ""}, "CONFIG is empty");
    expect_refused({"watch", ""}, "RUN is empty");
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
    EXPECT_FALSE(std::filesystem::exists(folder / "store"));
}

TEST_F(BadInputTest, CountsOutOfRangeAreRefusedAndNotTakenForDefaults) {
    for (const char* gpus : {"0", "-4", "1048577", "9223372036854775807"}) {
        expect_refused({"estimate", "llama-7b", "--gpus", gpus}, std::string("--gpus is ") + gpus);
    }
    for (const char* ranks : {"0", "-1", "4097"}) {
        expect_refused({"train", "--ranks", ranks, "--run", path("run")}, std::string("--ranks is ") + ranks);
    }
    expect_refused({"train", "--steps", "-1", "--run", path("run")}, "--steps is -1");
    EXPECT_EQ(plimsoll({"estimate", "llama-7b", "--gpus", "1048576", "--set", "layout.accumulation=1"}).code, 0);
    expect_refused({"estimate", "llama-7b", "--gpus", "12"}, "take 8 or 16 GPUs, or a global batch of 252 or 264");
}

TEST_F(BadInputTest, WhatIsQuotedStaysOnOneLineAndOnTheScreen) {
    expect_refused({"estimate", "a\nb.json"}, "a b.json");
    expect_refused({"estimate", "\x1b[31mred"}, "\"[31mred\"");
    expect_refused({"estimate", std::string(100'000, 'x')}, "give a plan file or one of: cpu-demo");
    EXPECT_LT(plimsoll({"estimate", std::string(100'000, 'x')}).err.size(), 5'000U);
}

TEST_F(BadInputTest, HostileFilesNeitherHangNorFillTheMemory) {
    for (const char* device : {"/dev/zero", "/dev/urandom", "/dev/null"}) {
        expect_all_refuse({device}, "not a regular file");
        expect_refused({"import", "hf", device}, "not a regular file");
        expect_refused({"train", "--data", device, "--run", path("run")}, "not a regular file");
    }
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    expect_refused({"import", "hf", path("pipe")}, "not a regular file");
    expect_refused({"train", "--data", path("pipe"), "--run", path("run")}, "not a regular file");
    put_contents(folder / "deep.json", std::string(1'000'000, '['));
    expect_all_refuse({path("deep.json")}, "nested deeper");
    put_contents(folder / "program", std::string("\x7f"
                                                 "ELF\x02\x01\x01\0",
                                                 8) +
                                         std::string(10'000, '\1'));
    expect_all_refuse({path("program")}, "not valid JSON");
    expect_refused({"train", "--data", path("program"), "--run", path("run")}, "is not text: byte 7 is NUL");
    put_contents(folder / "huge.txt", "");
    std::filesystem::resize_file(folder / "huge.txt", 20ULL << 30);  // sparse
    expect_refused({"train", "--data", path("huge.txt"), "--run", path("run")}, "holds more than 4.00 GiB");
    for (const char* number : {"NaN", "Infinity", "1e400", "1e300", "-1", "99999999999999999999", "null", "\"nan\""}) {
        put_contents(folder / "number.json", fmt::format(R"({{"plimsoll": 1, "layout": {{"dp": {}}}}})", number));
        expect_all_refuse({path("number.json")}, "number.json");
    }
}

TEST_F(BadInputTest, RunFolderThatIsDamagedIsSaidToBe) {
    std::filesystem::create_directories(folder / "damaged/telemetry");
    put_contents(folder / "damaged/plan.json", R"({"plimsoll": 1})");
    put_contents(folder / "damaged/run.json", "{}");
    expect_refused({"watch", path("damaged")}, "run.json does not say how the run stands");
    expect_refused({"stop", path("damaged")}, "run.json does not say how the run stands");
    put_contents(folder / "damaged/run.json", R"({"status": "finished"})");
    put_contents(folder / "damaged/telemetry/rank-0.rec", "In the beginning");
    expect_refused({"watch", path("damaged")}, "not a record file");
}

TEST_F(BadInputTest, BuildWithoutAnEngineSaysSoAndLeavesNothingBehind) {
    ::setenv("PLIMSOLL_WORKER", path("none").c_str(), 1);
    expect_refused({"train", "--data", path("corpus.txt"), "--run", path("run")}, "this build has no engine");
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_F(BadInputTest, PlaceThatIsNoDiskIsNotCalledFull) {
    expect_refused({"train", "--data", path("corpus.txt"), "--run", "/proc/nothing/run"}, "cannot make the run folder");
}

TEST_F(BadInputTest, RunsThatAreNotThereAreNamed) {
    expect_refused({"watch", "nothing-here"}, "nothing-here");
    expect_refused({"watch"}, "there is no run");
    expect_refused({"stop", folder.path().string()}, "is no run folder");
    expect_refused({"train", "--resume", "--run", path("none")}, "none");
    expect_refused({"train", "--resume"}, "there is no run");
}

}  // namespace
}  // namespace plimsoll
