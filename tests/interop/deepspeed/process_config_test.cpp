// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/process_config.h"

#include <gmock/gmock.h>

#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

class ProcessConfigTest : public ::testing::Test {
protected:
    /// A process 7 in a made-up /proc whose folder is `folder`/work.
    void process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment = {}) {
        const auto joined = [](const std::vector<std::string>& texts) {
            std::string bytes;
            for (const std::string& text : texts) bytes += text + '\0';
            return bytes;
        };
        std::filesystem::create_directories(folder / "proc/7");
        std::filesystem::create_directories(folder / "work");
        put_contents(folder / "proc/7/cmdline", joined(arguments));
        put_contents(folder / "proc/7/environ", joined(environment));
        std::filesystem::remove(folder / "proc/7/cwd");
        std::filesystem::create_symlink(folder / "work", folder / "proc/7/cwd");
    }
    Result<ProcessConfig> found(std::int64_t pid = 7) { return find_process_config(pid, folder / "proc"); }

    TempFolder folder;
};

TEST_F(ProcessConfigTest, TheFileOfDeepSpeedsScriptsIsFoundFromItsFolder) {
    for (const auto& arguments : std::vector<std::vector<std::string>>{
             {"python", "train.py", "--deepspeed", "--deepspeed_config", "conf/ds.json", "--lr", "1"},
             {"python", "train.py", "--deepspeed_config=conf/ds.json"},
             {"python", "run_clm.py", "--deepspeed", "conf/ds.json"}}) {
        process(arguments, {"RANK=1", "WORLD_SIZE=16"});
        const auto config = found();
        ASSERT_TRUE(config) << config.error().message;
        EXPECT_EQ(config->kind, ProcessConfig::Kind::DeepSpeed);
        EXPECT_EQ(config->path, folder / "work/conf/ds.json");
        EXPECT_EQ(config->world_size, 16);
    }
    process({"python", "train.py", "--deepspeed_config", "/etc/ds.json"}, {"WORLD_SIZE=many"});
    EXPECT_EQ(found()->path, "/etc/ds.json");
    EXPECT_FALSE(found()->world_size);
}

TEST_F(ProcessConfigTest, AWorkersPlanIsThatOfItsRun) {
    process({"/opt/bin/plimsoll-worker", "runs/one"});
    std::filesystem::create_directories(folder / "work/runs/one");
    put_contents(folder / "work/runs/one/plan.json", "{}");
    EXPECT_EQ(found()->kind, ProcessConfig::Kind::Plimsoll);
    EXPECT_EQ(found()->path, folder / "work/runs/one/plan.json");
}

TEST_F(ProcessConfigTest, WhatSaysNothingIsNamed) {
    process({"python", "train.py", "--deepspeed", "--lr", "1"});
    EXPECT_THAT(found().error().message, HasSubstr("process 7 names no configuration"));
    EXPECT_THAT(found(8).error().message, HasSubstr("there is no process 8"));
    EXPECT_THAT(found(-1).error().message, HasSubstr("there is no process -1"));
    process({});
    EXPECT_THAT(found().error().message, HasSubstr("cannot be read"));
    process({"python", "--deepspeed_config", "ds.json"});
    std::filesystem::remove(folder / "proc/7/cwd");
    EXPECT_THAT(found().error().message, HasSubstr("may not be read"));
}

}  // namespace
}  // namespace plimsoll
