// SPDX-License-Identifier: Apache-2.0
// Run folders that somebody else prepared.
#include "core/telemetry/contract/own_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct OwnFiles : ::testing::Test {
    OwnFiles() {
        for (const fs::path& each : {run.records(), run.logs(), run.checkpoint(100)}) fs::create_directories(each);
        for (const fs::path& each : {run.plan(), run.state(), run.log(0), run.checkpoint(100) / "weights"})
            put_contents(each, "own");
        put_contents(folder / "precious", "precious");
    }
    std::string problem() const {
        const auto checked = check_own_files(run);
        return checked ? "" : checked.error().message;
    }
    TempFolder folder;
    RunLayout run{folder / "run"};
};

TEST_F(OwnFiles, APlainRunIsFineAlsoBehindALinkOfTheUser) {
    EXPECT_EQ(problem(), "");
    fs::create_directory_symlink(run.run(), folder / "link");
    EXPECT_TRUE(check_own_files(RunLayout(folder / "link")));
}

TEST_F(OwnFiles, NoLinkIsTaken) {
    for (const fs::path& place :
         {run.log(0), run.state(), run.plan(), run.record(0), run.control(), run.lock(),
          run.checkpoint(100) / "weights", run.checkpoint(100) / "more", run.logs(), run.checkpoints()}) {
        const fs::path kept = folder / "kept";
        const bool there = fs::exists(place);
        if (there) fs::rename(place, kept);
        // Also one that leads nowhere yet: a log would make the file.
        for (const fs::path& target : {folder / "precious", folder / "not there yet"}) {
            fs::create_symlink(target, place);
            EXPECT_THAT(problem(), HasSubstr(place.string() + " is a symbolic link")) << place;
            fs::remove(place);
        }
        if (there) fs::rename(kept, place);
    }
    EXPECT_EQ(problem(), "");
}

TEST_F(OwnFiles, NoHardLinkPipeOrForeignRightIsTaken) {
    fs::create_hard_link(folder / "precious", run.log(1));
    EXPECT_THAT(problem(), HasSubstr("second name"));
    fs::remove(run.log(1));
    ASSERT_EQ(::mkfifo(run.control().c_str(), 0600), 0);
    EXPECT_THAT(problem(), HasSubstr("neither a file nor a folder"));
    fs::remove(run.control());
    ::chmod(run.logs().c_str(), 0777);
    EXPECT_THAT(problem(), HasSubstr("every user of this machine can write"));
    ::chmod(run.logs().c_str(), 0755);
    EXPECT_EQ(problem(), "");
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
    ASSERT_EQ(::chown(run.log(0).c_str(), 65534, 65534), 0);
    EXPECT_THAT(problem(), HasSubstr("belongs to another user (number 65534)"));
}

TEST_F(OwnFiles, OpeningForWritingFollowsNothing) {
    const int append = O_WRONLY | O_CREAT | O_APPEND;
    fs::create_symlink(folder / "precious", run.log(2));
    EXPECT_THAT(open_own(run.log(2), append).error().message, HasSubstr("symbolic link"));
    fs::create_symlink(folder / "not there yet", run.log(3));
    EXPECT_FALSE(open_own(run.log(3), append));
    EXPECT_FALSE(fs::exists(folder / "not there yet"));
    fs::create_hard_link(folder / "precious", run.log(4));
    EXPECT_THAT(open_own(run.log(4), append).error().message, HasSubstr("hard link"));
    ASSERT_EQ(::mkfifo(run.control().c_str(), 0600), 0);
    EXPECT_FALSE(open_own(run.control(), O_RDWR));
    EXPECT_EQ(contents_of(folder / "precious"), "precious");

    const auto made = open_own(run.log(5), append);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(fs::status(run.log(5)).permissions(), fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_TRUE(open_own(run.log(0), append));
}

}  // namespace
}  // namespace plimsoll
