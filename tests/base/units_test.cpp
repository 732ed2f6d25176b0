// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/parse_bytes.h"
#include "core/base/units.h"

namespace plimsoll {
namespace {

TEST(Units, BytesHaveThreeDigitsAndABinaryUnit) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(512), "512 B");
    EXPECT_EQ(format_bytes(KiB), "1.00 KiB");
    EXPECT_EQ(format_bytes(67'431'000'000), "62.8 GiB");
    EXPECT_EQ(format_bytes(80 * GiB), "80.0 GiB");
    EXPECT_EQ(format_bytes(-3 * MiB), "-3.00 MiB");
    EXPECT_EQ(format_bytes(std::numeric_limits<Bytes>::max()), "8192 PiB");
}

TEST(Units, RoundingUpNeverShowsAFourthDigitOrAFullUnit) {
    EXPECT_EQ(format_bytes(KiB * 1024 - 1), "1.00 MiB");
    EXPECT_EQ(format_bytes(static_cast<Bytes>(9.996 * double(KiB))), "10.0 KiB");
    EXPECT_EQ(format_bytes(static_cast<Bytes>(99.96 * double(KiB))), "100 KiB");
}

TEST(Units, DecimalBytesAreTheDatasheets) {
    EXPECT_EQ(format_bytes_decimal(67'431'000'000), "67.4 GB");
    EXPECT_EQ(format_bytes_decimal(56 * GB), "56.0 GB");
    EXPECT_EQ(format_bytes_decimal(999), "999 B");
}

TEST(Units, BytesAreReadWithTheirUnitAndNothingElseIs) {
    EXPECT_EQ(parse_bytes("5GB"), 5 * GB);
    EXPECT_EQ(parse_bytes("1.5 GiB"), 3 * GiB / 2);
    EXPECT_EQ(parse_bytes("300MB"), 300'000'000);
    EXPECT_EQ(parse_bytes("2kB"), 2000);
    EXPECT_EQ(parse_bytes("4096"), 4096);
    for (const char* text : {"", "GB", "5 gigabytes", "-1GB", "0", "0.5", "5GB ", " 5GB", "1e300", "nan", "inf",
                             "9223372036854775808", "0x10"}) {
        EXPECT_EQ(parse_bytes(text), std::nullopt) << text;
    }
}

TEST(Units, CountsAreGroupedByThousands) {
    EXPECT_EQ(format_count(6738415616), "6,738,415,616");
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(999), "999");
    EXPECT_EQ(format_count(1000, " "), "1 000");
    EXPECT_EQ(format_count(-123456), "-123,456");
    EXPECT_EQ(format_count(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Units, ShortNumbersKeepThreeDigits) {
    EXPECT_EQ(format_short(6738415616.0), "6.74 B");
    EXPECT_EQ(format_short(163100), "163 k");
    EXPECT_EQ(format_short(42), "42");
    EXPECT_EQ(format_short(0.5), "0.50");
    EXPECT_EQ(format_short(999.6), "1.00 k");
    EXPECT_EQ(format_short(1e15), "1000 T");
}

TEST(Units, SecondsReadLikeAClockFromAMinuteOn) {
    EXPECT_EQ(format_seconds(0.0214), "21.4 ms");
    EXPECT_EQ(format_seconds(2e-6), "2.00 µs");
    EXPECT_EQ(format_seconds(1.5), "1.50 s");
    EXPECT_EQ(format_seconds(61), "1 min 1 s");
    EXPECT_EQ(format_seconds(12345), "3 h 25 min");
    EXPECT_EQ(format_seconds(90000), "1 d 1 h");
    EXPECT_EQ(format_seconds(-1.5), "-1.50 s");
    EXPECT_EQ(format_seconds(std::nan("")), "–");
}

}  // namespace
}  // namespace plimsoll
