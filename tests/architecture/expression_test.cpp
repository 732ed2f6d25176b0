// SPDX-License-Identifier: Apache-2.0
#include "core/architecture/expression.h"

#include <gmock/gmock.h>

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

const Json config = {{"hidden", 64},
                     {"heads", 8},
                     {"theta", 10000.0},
                     {"kinds", {"a", "b", "a"}},
                     {"pattern", "M-*"},
                     {"none", nullptr},
                     {"flag", true},
                     {"inner", {{"qk", false}, {"size", 3}}},
                     {"huge", std::int64_t{1} << 62},
                     {"half", 0.5}};

std::string value(const std::string& text) {
    const auto expression = Expression::parse(text);
    if (!expression) return expression.error().message;
    const auto made = expression->value(Scope(config));
    return made ? made->dump() : made.error().message;
}

TEST(ExpressionTest, FollowsPythonsRules) {
    EXPECT_EQ(value("2 + 3 * 4"), "14");
    EXPECT_EQ(value("(2 + 3) * 4 - 1"), "19");
    EXPECT_EQ(value("-7 // 2"), "-4");
    EXPECT_EQ(value("-7 % 2"), "1");
    EXPECT_EQ(value("hidden // heads"), "8");
    EXPECT_EQ(value("theta // 10"), "1000");
    EXPECT_EQ(value("hidden if heads > 4 else 1"), "64");
    EXPECT_EQ(value("1 if false else 2 if false else 3"), "3");
    EXPECT_EQ(value("not flag or heads == 8 and hidden != 64"), "false");
    EXPECT_EQ(value("not (flag and none)"), "true");
    EXPECT_EQ(value("kinds[1]"), "\"b\"");
    EXPECT_EQ(value("kinds[2] == 'a'"), "true");
    EXPECT_EQ(value("pattern[0]"), "\"M\"");
    EXPECT_EQ(value("'b' in kinds"), "true");
    EXPECT_EQ(value("3 not in [1, 2]"), "true");
    EXPECT_EQ(value("'c2p' in 'p2c|c2p'"), "true");
    EXPECT_EQ(value("inner['size'] + len(kinds) + len(pattern)"), "9");
    EXPECT_EQ(value("inner['absent']"), "null");
    EXPECT_EQ(value("given(none, absent, 5)"), "5");
    EXPECT_EQ(value("max(hidden, 100) - min(hidden, 1)"), "99");
    EXPECT_EQ(value("absent"), "null");
    EXPECT_EQ(value("none and absent[3]"), "false");
}

TEST(ExpressionTest, InnerNamesHideOuterOnes) {
    Scope outer(config);
    outer.set("layer", 1);
    Scope inner(outer);
    inner.set("layer", 2);
    const auto expression = Expression::parse("layer * hidden");
    ASSERT_TRUE(expression);
    EXPECT_EQ(expression->number(inner).value_or(0), 128);
    EXPECT_EQ(expression->number(outer).value_or(0), 64);
}

TEST(ExpressionTest, ErrorsNameTheCause) {
    EXPECT_EQ(value("absent * 2"), "absent is missing; a whole number is needed");
    EXPECT_EQ(value("kinds + 1"), "kinds is [\"a\",\"b\",\"a\"]; a whole number is needed");
    EXPECT_EQ(value("half * 2"), "half is 0.5; a whole number is needed");
    EXPECT_EQ(value("kinds[3]"), "kinds has 3 entries, and one for place 3 is needed");
    EXPECT_EQ(value("hidden[0]"), "hidden is 64; a list is needed");
    EXPECT_THAT(value("huge * huge"), HasSubstr("its numbers are too large"));
    EXPECT_THAT(value("1 // 0"), HasSubstr("divides by 0"));
    EXPECT_THAT(value("len(hidden)"), HasSubstr("a list is needed"));
    for (const char* text :
         {"", "1 +", "(1", "[1, 2", "1 2", "if 1", "1 if 2", "a b", "'open", "1 not 2", "@", "a.b", "min("}) {
        EXPECT_THAT(value(text), HasSubstr("is not understood at")) << text;
    }
    EXPECT_THAT(value("open(1)"), HasSubstr("calls open, which is no function"));
    EXPECT_THAT(value(std::string(1000, '(')), HasSubstr("too deep"));
    EXPECT_THAT(value(std::string(1000, '-') + "1"), HasSubstr("too deep"));
    std::string nots;
    for (int i = 0; i < 500; ++i) nots += "not ";
    EXPECT_THAT(value(nots + "1"), HasSubstr("too deep"));
}

}  // namespace
}  // namespace plimsoll
