// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <gtest/gtest.h>

#include "core/base/json.h"

namespace plimsoll {
namespace {

TEST(Printable, OrdinaryTextOfAnyScriptStays) {
    for (const char* text : {"", "plain", "größer", "日本語", "Ελλάδα 🚢", "مرحبا", "a\u00A0b"})
        EXPECT_EQ(printable(text), text);
}

TEST(Printable, NothingThatSteersATerminalIsLeft) {
    EXPECT_EQ(printable("a\x1b]0;title\x07z"), "a]0;titlez");
    EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "[31mred[0m");
    EXPECT_EQ(printable("a\u009b31mb"), "a31mb") << "CSI of one code point";
    EXPECT_EQ(printable("a\x7f\u0085z"), "az");
    EXPECT_EQ(printable(std::string_view("a\0b", 3)), "ab");
}

TEST(Printable, LettersKeepTheirOrder) {
    EXPECT_EQ(printable("a\u202Eb\u202Cc\u2066d\u2069e\u200Ff\u061Cg"), "abcdefg");
}

TEST(Printable, LinesAreJoinedOrKept) {
    EXPECT_EQ(printable("x\nimport os\tnow\u2028z"), "x import os now z");
    EXPECT_EQ(printable_lines("x\r\ny\tz\x1b"), "x\ny\tz");
}

TEST(Printable, BytesThatAreNoUtf8AreMarked) {
    const std::string mark = "\xEF\xBF\xBD";
    EXPECT_EQ(printable("bad\xff.csv"), "bad" + mark + ".csv");
    EXPECT_EQ(printable("\xC0\xAF"), mark + mark) << "overlong slash";
    EXPECT_EQ(printable("\xED\xA0\x80"), mark + mark + mark) << "surrogate";
    EXPECT_EQ(printable("\xF4\x90\x80\x80"), mark + mark + mark + mark) << "beyond Unicode";
    EXPECT_EQ(printable("\xE2\x82"), mark + mark) << "cut off";
}

TEST(Printable, WhatIsLeftIsValidUtf8OfEveryPairOfBytes) {
    for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
            const std::string text{static_cast<char>(a), static_cast<char>(b)};
            const std::string shown = printable(text);
            EXPECT_TRUE(valid_utf8(shown)) << a << " " << b;
            EXPECT_EQ(printable(shown), shown) << a << " " << b;
        }
    }
}

}  // namespace
}  // namespace plimsoll
