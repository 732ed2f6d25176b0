// SPDX-License-Identifier: Apache-2.0
#include "core/telemetry/frame.h"

#include <gtest/gtest.h>

#include <limits>

namespace plimsoll {
namespace {

TEST(Crc32c, EqualsTheCheckValuesOfTheStandards) {
    EXPECT_EQ(crc32c("123456789"), 0xE3069283U);  // the check value of CRC-32/ISCSI in the CRC catalogue
    // RFC 3720, appendix B.4 (its bytes are in transmission order)
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
    EXPECT_EQ(crc32c(""), 0U);
}

TEST(Bytes, AreLittleEndianOnEveryMachine) {
    std::string out;
    put_u16(out, 0x0102);
    put_u32(out, 0x03040506);
    put_u64(out, 0x0708090a0b0c0d0eULL);
    put_f64(out, 1.0);  // IEEE 754: 0x3ff0000000000000
    EXPECT_EQ(out, std::string("\x02\x01\x06\x05\x04\x03\x0e\x0d\x0c\x0b\x0a\x09\x08\x07"
                               "\x00\x00\x00\x00\x00\x00\xf0\x3f",
                               22));
    ByteReader in(out);
    EXPECT_EQ(in.u16(), 0x0102);
    EXPECT_EQ(in.u32(), 0x03040506U);
    EXPECT_EQ(in.u64(), 0x0708090a0b0c0d0eULL);
    EXPECT_EQ(in.f64(), 1.0);
    EXPECT_TRUE(in.ok());
    EXPECT_EQ(in.u8(), 0);
    EXPECT_FALSE(in.ok());
}

TEST(Bytes, ReadPastTheEndIsRefusedNotRead) {
    ByteReader in("abc");
    EXPECT_EQ(in.text(std::numeric_limits<std::size_t>::max()), "");
    EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace plimsoll
