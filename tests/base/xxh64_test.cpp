// SPDX-License-Identifier: Apache-2.0
#include "core/base/xxh64.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

TEST(Xxh64, EqualsPublishedValues) {
    // python-xxhash's documentation, and "" of the specification's sanity checks
    EXPECT_EQ(xxh64(""), 0xef46db3751d8e999U);
    EXPECT_EQ(xxh64("a"), 0xd24ec4f1a98c6e5bU);
    EXPECT_EQ(xxh64("xxhash"), 0x32dd38952c4bc720U);
    EXPECT_EQ(xxh64("xxhash", 20141025), 0xb559b98d844e0635U);
    // longer than a stripe of 32 bytes
    EXPECT_EQ(xxh64("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1U);
}

}  // namespace
}  // namespace plimsoll
