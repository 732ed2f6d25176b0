// SPDX-License-Identifier: Apache-2.0
#include "app/cli/reports/braille_plot.h"

#include <gmock/gmock.h>

#include <cmath>

#include "app/cli/terminal/terminal.h"

namespace plimsoll::cli {
namespace {

using ::testing::HasSubstr;

TEST(BraillePlot, RisingLineGoesFromTheBottomLeftToTheTopRight) {
    Pyramid line;
    for (std::uint64_t step = 0; step < 100; ++step) line.append({step, 0, static_cast<double>(step)});
    const auto lines = draw({"loss", "", {{&line, 33}}, 0, 100, 31, 4});
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_THAT(lines[0], HasSubstr("loss  99"));
    for (const std::string& each : lines) EXPECT_EQ(shown_width(each), 31U) << each;
    EXPECT_THAT(lines[1], ::testing::StartsWith("        99┤    "));
    EXPECT_THAT(lines[4], ::testing::StartsWith("         0┤"));
    EXPECT_EQ(lines[1].substr(13, 5), "     ");
    EXPECT_NE(lines[1].substr(lines[1].size() - 3), "   ");
    EXPECT_EQ(lines[4].back(), ' ');
}

TEST(BraillePlot, OneStepSpikeAmongManyIsDrawn) {
    Pyramid line;
    for (std::uint64_t step = 0; step < 100'000; ++step) line.append({step, 0, step == 55'555 ? 1000.0 : 1.0});
    const auto lines = draw({"loss", "", {{&line, 33}}, 0, 100'000, 60, 5});
    std::size_t rows_with_dots = 0;
    for (std::size_t row = 1; row < lines.size(); ++row)
        rows_with_dots +=
            lines[row].find("\xe2\xa1") != std::string::npos || lines[row].find("\xe2\xa2") != std::string::npos ||
            lines[row].find("\xe2\xa0") != std::string::npos || lines[row].find("\xe2\xa3") != std::string::npos;
    EXPECT_EQ(rows_with_dots, 5U) << "the spike goes through every row";
}

TEST(BraillePlot, NanIsMarkedAndNothingElseIsBroken) {
    Pyramid line;
    for (std::uint64_t step = 0; step < 20; ++step) line.append({step, 0, step == 10 ? std::nan("") : 1.0});
    EXPECT_THAT(draw({"loss", "", {{&line, 33}}, 0, 20, 40, 3})[1], HasSubstr("!"));
    Pyramid none;
    none.append({0, 0, INFINITY});
    EXPECT_EQ(draw({"loss", "", {{&none, 33}}, 0, 1, 40, 3}).size(), 4U);
    Pyramid empty;
    EXPECT_EQ(draw({"loss", "", {{&empty, 33}}, 0, 1, 40, 3}).size(), 4U);
}

TEST(ShortValue, FitsTheAxisInEveryUnit) {
    EXPECT_EQ(short_value(2.3138, ""), "2.31");
    EXPECT_EQ(short_value(3e-4, ""), "3.00e-04");
    EXPECT_EQ(short_value(84'123, ""), "84.1 k");
    EXPECT_EQ(short_value(1.5 * 1024 * 1024 * 1024, "B"), "1.50 GiB");
    EXPECT_EQ(short_value(0.0214, "s"), "21.4 ms");
    EXPECT_EQ(short_value(std::nan(""), "B"), "NaN");
    EXPECT_EQ(short_value(-INFINITY, ""), "-inf");
}

TEST(Terminal, TextOfOthersCannotSteerIt) {
    EXPECT_EQ(printable("In\x1b[2J the\nbeginning\x07"), "In[2J the beginning");
}

TEST(Terminal, TextIsFittedByCharactersNotBytes) {
    EXPECT_EQ(fitted("µs", 4), "µs  ");
    EXPECT_EQ(fitted("µs", 4, true), "  µs");
    EXPECT_EQ(fitted("übermäßig", 5), "über…");
    EXPECT_EQ(fitted("a\x1b[1mbcdef\x1b[0mg", 4), "a\x1b[1mbc\x1b[0m…") << "no half escape sequence";
    EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
}

}  // namespace
}  // namespace plimsoll::cli
