// SPDX-License-Identifier: Apache-2.0
// What a rank maps when it is told an address: rank 0's own sealed memory, and nothing else.
#include "core/engine/ranks/shared_memory/shared_memory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "core/base/fd.h"
#include "tests/support/temp_folder.h"

namespace plimsoll::engine {
namespace {

constexpr std::size_t size = 4096;

std::string address_of(const Fd& fd) { return fmt::format("/proc/{}/fd/{}", ::getpid(), fd.get()); }

void expect_refused(const std::string& address, pid_t creator = ::getpid()) {
    EXPECT_FALSE(SharedMemory::open(address, creator, size)) << address;
}

TEST(SharedMemory, IsSeenByWhoOpensItsAddress) {
    auto made = SharedMemory::create(size);
    ASSERT_TRUE(made) << made.error().message;
    const auto opened = SharedMemory::open(made->address(), ::getpid(), size);
    ASSERT_TRUE(opened) << opened.error().message;
    std::memcpy(made->data(), "seen", 4);
    EXPECT_EQ(std::memcmp(opened->data(), "seen", 4), 0);
}

TEST(SharedMemory, NoFileOfAFolderIsMapped) {
    const TempFolder folder;
    put_contents(folder / "precious", std::string(size, 'p'));
    expect_refused(folder / "precious");
    expect_refused("/etc/passwd");
    // Behind a descriptor of this process it is still a file.
    const Fd fd(::open((folder / "precious").c_str(), O_RDWR | O_CLOEXEC));
    expect_refused(address_of(fd));
    EXPECT_EQ(contents_of(folder / "precious"), std::string(size, 'p'));
}

TEST(SharedMemory, OnlyTheCreatorsDescriptorsAreOpened) {
    auto made = SharedMemory::create(size);
    expect_refused(made->address(), ::getppid());
    for (const char* form : {"/proc/self/fd/{}", "/proc/{}/../self/fd/0", "/dev/fd/{}"})
        expect_refused(fmt::format(fmt::runtime(form), ::getpid()));
    expect_refused(fmt::format("/proc/{}/fd/", ::getpid()));
    expect_refused(fmt::format("/proc/{}/fd/../../1/fd/3", ::getpid()));
    expect_refused(made->address() + "x");
    expect_refused(made->address() + "/..");
}

TEST(SharedMemory, MemoryWhoseSizeCanChangeIsRefused) {
    const Fd open_memory(::memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    ASSERT_EQ(::ftruncate(open_memory.get(), size), 0);
    expect_refused(address_of(open_memory));
    ASSERT_EQ(::fcntl(open_memory.get(), F_ADD_SEALS, F_SEAL_GROW), 0);
    expect_refused(address_of(open_memory));
}

TEST(SharedMemory, AFifoDoesNotHang) {
    const TempFolder folder;
    ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
    const Fd fd(::open((folder / "fifo").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    expect_refused(address_of(fd));
}

}  // namespace
}  // namespace plimsoll::engine
