// SPDX-License-Identifier: Apache-2.0
#include "core/base/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

Fd open_null() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

TEST(Fd, ClosesWhatItOwns) {
    int number = -1;
    {
        const Fd fd = open_null();
        number = fd.get();
        ASSERT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Fd, MoveHandsItOver) {
    Fd from = open_null();
    Fd to = open_null();
    const int kept = from.get(), closed = to.get();
    to = std::move(from);
    EXPECT_EQ(to.get(), kept);
    EXPECT_TRUE(is_open(kept));
    EXPECT_FALSE(is_open(closed));
    EXPECT_EQ(to.close(), 0);
    EXPECT_FALSE(is_open(kept));
    EXPECT_LT(to.get(), 0);
    EXPECT_EQ(to.close(), 0);
}

}  // namespace
}  // namespace plimsoll
