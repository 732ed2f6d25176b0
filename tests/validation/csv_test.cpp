// SPDX-License-Identifier: Apache-2.0
#include "core/validation/csv.h"

#include <gmock/gmock.h>

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string problem(std::string_view text) {
    const auto table = read_csv(text);
    return table ? "" : table.error().message;
}

TEST(Csv, CellsByName) {
    const auto table = read_csv("a,b,c\n1,\"two, with \"\"quotes\"\"\",\r\n\n4\n");
    ASSERT_TRUE(table) << table.error().message;
    ASSERT_EQ(table->rows.size(), 2u);
    EXPECT_EQ(table->at(0, "b"), "two, with \"quotes\"");
    EXPECT_EQ(table->at(1, "a"), "4");
    EXPECT_EQ(table->at(1, "c"), "");
    EXPECT_EQ(table->at(0, "no such column"), "");
}

TEST(Csv, CellsArePrintableTextOnOneLine) {
    const auto table = read_csv("a,b\n\"one\ntwo\",\x1b[31m\n");
    ASSERT_TRUE(table) << table.error().message;
    EXPECT_EQ(table->at(0, "a"), "one two");
    EXPECT_EQ(table->at(0, "b").find('\x1b'), std::string::npos);
}

TEST(Csv, BadTablesAreRefusedWithTheLine) {
    EXPECT_THAT(problem(""), HasSubstr("has no rows"));
    EXPECT_THAT(problem("a,b\n"), HasSubstr("has no rows"));
    EXPECT_THAT(problem("a,b\n1,2,3\n"), HasSubstr("line 2 has 3 cells and the first line 2 columns"));
    EXPECT_THAT(problem("a,b\n1,\"2\n"), HasSubstr("double quotes"));
    EXPECT_THAT(problem("a,b\n1,x\"y\n"), HasSubstr("line 2"));
}

}  // namespace
}  // namespace plimsoll
