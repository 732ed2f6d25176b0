// SPDX-License-Identifier: Apache-2.0
#include "core/base/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <functional>

#include "core/base/write_error.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

/// Exit code of `work` in a child process; 128 + the signal that ended it.
int child_ends_with(const std::function<int()>& work) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void lead(int fd, const char* path) {
    const int opened = ::open(path, O_WRONLY);
    ::dup2(opened, fd);
}

TEST(Output, AFullDiskIsAnErrorThatNamesThePlace) {
    EXPECT_EQ(child_ends_with([] {
                  lead(STDOUT_FILENO, "/dev/full");
                  prepare_output();
                  print("words");
                  if (flush_output()) return 1;
                  const auto finished = finish_output();
                  if (finished || finished.error().kind != Error::Kind::Failed) return 2;
                  const std::string& said = finished.error().message;
                  return said.find("cannot write /dev/full: No space left on device") != std::string::npos ? 0 : 3;
              }),
              0);
}

TEST(Output, StandardErrorWithoutRoomEndsNothing) {
    EXPECT_EQ(child_ends_with([] {
                  lead(STDERR_FILENO, "/dev/full");
                  prepare_output();
                  print_error("words\n");
                  return write_all(STDERR_FILENO, "words\n") == ENOSPC ? 0 : 1;
              }),
              0);
}

TEST(Output, AReaderThatHasGoneIsNoErrorAndNoSignal) {
    EXPECT_EQ(child_ends_with([] {
                  int ends[2];
                  if (::pipe(ends) != 0) return 1;
                  ::close(ends[0]);
                  ::dup2(ends[1], STDOUT_FILENO);
                  prepare_output();
                  print("words");
                  if (flush_output()) return 2;  // there is no need to go on
                  return finish_output() ? 0 : 3;
              }),
              0);
}

TEST(Output, AStreamThatIsClosedDoesNotBecomeTheNextFile) {
    EXPECT_EQ(child_ends_with([] {
                  for (const int fd : {0, 1, 2}) ::close(fd);
                  prepare_output();
                  const int next = ::open("/dev/zero", O_RDWR);
                  if (next < 3) return 1;
                  print("words");
                  print_error("words");
                  return !finish_output() ? 0 : 2;
              }),
              0);
}

TEST(Output, StreamsAreNamedWithTheirPath) {
    EXPECT_EQ(child_ends_with([] {
                  lead(STDOUT_FILENO, "/dev/full");
                  return name_of_stream(STDOUT_FILENO) == "standard output (/dev/full)" ? 0 : 1;
              }),
              0);
}

TEST(WriteError, NamesTheDiskThatIsFullAndTheLimitThatIsReached) {
    // /proc is a file system of its own on every machine.
    EXPECT_EQ(disk_of("/proc/self/status"), "/proc");
    EXPECT_EQ(disk_of("/proc/not/there/yet"), "/proc");
    EXPECT_EQ(
        write_error("/proc/x", ENOSPC),
        "cannot write /proc/x: No space left on device; the disk at /proc is full: free some room there, or choose "
        "another place");
    EXPECT_THAT(write_error("/proc/x", EFBIG), HasSubstr("the file size limit is reached"));
    EXPECT_THAT(write_error("/proc/x", EDQUOT), HasSubstr("your quota on the disk at /proc"));
    EXPECT_EQ(write_error("/dev/full", ENOSPC),
              "cannot write /dev/full: No space left on device; no room is left there: choose another place");
    EXPECT_EQ(write_error("/proc/x", EACCES), "cannot write /proc/x: Permission denied; choose another place");
}

}  // namespace
}  // namespace plimsoll
