// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "core/base/beside.h"
#include "core/base/file.h"
#include "core/base/file_io.h"
#include "core/base/json.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t nobody = 65534;

class Files : public testing::Test {
protected:
    Files() {
        std::string name = (fs::temp_directory_path() / "plimsoll-base-XXXXXX").string();
        folder_ = ::mkdtemp(name.data());
    }
    ~Files() override { fs::remove_all(folder_); }

    std::string contents(const fs::path& path) const { return read_file(path).value_or("<unreadable>"); }
    std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    /// Runs `work` in a child process, so that its limits and user do not outlive the test.
    template <class Work>
    static bool in_child(Work work) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(work() ? 0 : 1);
        int status = 0;
        ::waitpid(child, &status, 0);
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    fs::path folder_;
};

TEST_F(Files, WhatIsWrittenIsReadBack) {
    const std::string bytes("a\0b\nc\xff", 6);
    ASSERT_TRUE(write_file_atomic(folder_ / "f", bytes));
    EXPECT_EQ(contents(folder_ / "f"), bytes);
    ASSERT_TRUE(write_file_atomic(folder_ / "f", ""));
    EXPECT_EQ(contents(folder_ / "f"), "");
    EXPECT_EQ(entries(), 1U) << "nothing else is left in the folder";
}

TEST_F(Files, ReadingSaysWhatIsWrong) {
    EXPECT_THAT(read_file(folder_ / "none").error().message, HasSubstr("none: No such file or directory"));
    EXPECT_THAT(read_file(folder_).error().message, HasSubstr("it is a folder, a file is needed"));
    ASSERT_TRUE(write_file_atomic(folder_ / "big", std::string(2000, 'x')));
    EXPECT_THAT(read_file(folder_ / "big", 1000).error().message, HasSubstr("holds 1.95 KiB, more than the 1000 B"));
    EXPECT_TRUE(read_file(folder_ / "big", 2000));
}

TEST_F(Files, ReadingAPipeOrADeviceDoesNotHang) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(read_file(folder_ / "pipe").error().message, HasSubstr("not a regular file"));
    EXPECT_THAT(read_file("/dev/zero").error().message, HasSubstr("not a regular file"));
}

TEST_F(Files, AFileWithoutPermissionIsNamed) {
    ASSERT_TRUE(write_file_atomic(folder_ / "secret", "x"));
    fs::permissions(folder_ / "secret", fs::perms::none);
    fs::permissions(folder_, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
    EXPECT_TRUE(in_child([&] {
        if (::geteuid() == 0 && ::seteuid(nobody) != 0) return false;
        const auto read = read_file(folder_ / "secret");
        return !read && read.error().message.find("secret: Permission denied") != std::string::npos;
    }));
}

TEST_F(Files, AFullDiskLeavesTheOldFileAndNothingElse) {
    ASSERT_TRUE(write_file_atomic(folder_ / "plan", "the old plan"));
    // A limit on the size of files fails a write in its middle, as a full disk does.
    EXPECT_TRUE(in_child([&] {
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{4096, 4096};
        if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
        const auto written = write_file_atomic(folder_ / "plan", std::string(100'000, 'x'));
        return !written && written.error().message.find("cannot write") != std::string::npos &&
               written.error().message.find("File too large") != std::string::npos;
    }));
    EXPECT_EQ(contents(folder_ / "plan"), "the old plan");
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, AReadOnlyFolderLeavesTheOldFile) {
    ASSERT_TRUE(write_file_atomic(folder_ / "plan", "the old plan"));
    fs::permissions(folder_,
                    fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read | fs::perms::others_exec);
    EXPECT_TRUE(in_child([&] {
        if (::geteuid() == 0 && ::seteuid(nobody) != 0) return false;
        const auto written = write_file_atomic(folder_ / "plan", "new");
        return !written && written.error().message.find("Permission denied") != std::string::npos;
    }));
    fs::permissions(folder_, fs::perms::owner_all);
    EXPECT_EQ(contents(folder_ / "plan"), "the old plan");
}

TEST_F(Files, WritingIntoAFolderThatIsNotThereSaysSo) {
    const auto written = write_file_atomic(folder_ / "no" / "plan", "x");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().message, HasSubstr("No such file or directory"));
}

TEST_F(Files, WritingOverAFolderIsAnErrorAndLeavesNothingBehind) {
    fs::create_directory(folder_ / "plan");
    EXPECT_THAT(write_file_atomic(folder_ / "plan", "x").error().message, HasSubstr("it is a folder"));
    EXPECT_TRUE(fs::is_directory(folder_ / "plan"));
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ADeviceOrPipeIsNeverReplacedByAFile) {
    ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(write_file_atomic(folder_ / "pipe", "x").error().message, HasSubstr("not a regular file"));
    EXPECT_TRUE(fs::is_fifo(folder_ / "pipe"));
    EXPECT_EQ(entries(), 1U);
}

TEST_F(Files, ALinkKeepsPointingAndItsTargetIsReplaced) {
    ASSERT_TRUE(write_file_atomic(folder_ / "target", "old"));
    fs::create_symlink("target", folder_ / "link");
    ASSERT_TRUE(write_file_atomic(folder_ / "link", "new"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(contents(folder_ / "target"), "new");
}

TEST_F(Files, NobodyCanMakeTheTemporaryFileFirst) {
    // Names that others could know: by the process's number and a count from 0.
    std::ofstream(folder_ / "victim") << "precious";
    for (int count = 0; count < 10; ++count) {
        fs::create_hard_link(folder_ / "victim", folder_ / fmt::format("plan.json.{}-{}.tmp", ::getpid(), count));
    }
    fs::create_hard_link(folder_ / "victim", folder_ / fmt::format("plan.json.{}.tmp", ::getpid()));
    EXPECT_TRUE(write_file_atomic(folder_ / "plan.json", "new"));
    EXPECT_EQ(contents(folder_ / "victim"), "precious");
    auto writer = FileWriter::create(folder_ / "plan.json");
    ASSERT_TRUE(writer) << writer.error().message;
    ASSERT_TRUE(writer->write("newer", 5));
    ASSERT_TRUE(writer->finish());
    EXPECT_EQ(contents(folder_ / "victim"), "precious");
    EXPECT_EQ(contents(folder_ / "plan.json"), "newer");

    const auto one = make_beside(folder_ / "plan.json"), other = make_beside(folder_ / "plan.json", 0600);
    ASSERT_TRUE(one && other);
    EXPECT_NE(one->path, other->path);
    EXPECT_EQ(fs::status(other->path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, AnExistingFileKeepsItsPermissions) {
    ASSERT_TRUE(write_file_atomic(folder_ / "plan", "old"));
    fs::permissions(folder_ / "plan", fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_TRUE(write_file_atomic(folder_ / "plan", "new"));
    EXPECT_EQ(fs::status(folder_ / "plan").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, JsonIsWrittenIndentedWithAFinalNewline) {
    ASSERT_TRUE(write_json(folder_ / "j", Json{{"a", 1}}));
    EXPECT_EQ(contents(folder_ / "j"), "{\n  \"a\": 1\n}\n");
    const auto back = read_json(folder_ / "j");
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, (Json{{"a", 1}}));
}

TEST_F(Files, JsonErrorsNameTheFile) {
    ASSERT_TRUE(write_file_atomic(folder_ / "bad.json", "{\n\"a\": }"));
    EXPECT_THAT(read_json(folder_ / "bad.json").error().message, HasSubstr("bad.json, line 2, column 6"));
    EXPECT_THAT(read_json(folder_ / "bad.json", 3).error().message, HasSubstr("more than"));
}

}  // namespace
}  // namespace plimsoll
