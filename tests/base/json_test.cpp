// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "tests/support/growth.h"

namespace plimsoll {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(const std::string& text) {
    const Result<Json> json = parse_json(text, "plan.json");
    return json ? "no error" : json.error().message;
}

TEST(ParseJson, KeysKeepTheirOrder) {
    const Result<Json> json = parse_json(R"({"z": 1, "a": 2, "m": {"y": 0, "b": 0}})", "plan.json");
    ASSERT_TRUE(json);
    EXPECT_EQ(json->dump(), R"({"z":1,"a":2,"m":{"y":0,"b":0}})");
}

TEST(ParseJson, ErrorsSayWhere) {
    EXPECT_THAT(error_of("{\n  \"a\": 1,\n  \"b\" 2\n}"), StartsWith("plan.json, line 3, column 7: not valid JSON: "));
    EXPECT_THAT(error_of(""), StartsWith("plan.json, line 1, column 1: not valid JSON: "));
    EXPECT_THAT(error_of("[1,]"), HasSubstr("line 1, column 4"));
    EXPECT_THAT(error_of("{} x"), HasSubstr("line 1, column 4"));
}

// The parser quotes what it read last.
TEST(ParseJson, ErrorsAreUtf8WhateverTheTextIs) {
    for (const char* text : {"{\"a\": \xff}", "{\"a\xfe\": 1}", "\xc3", "[1, \xe2\x82"}) {
        const auto json = parse_json(text, "plan.json");
        ASSERT_FALSE(json) << text;
        EXPECT_TRUE(valid_utf8(json.error().message)) << json.error().message;
    }
}

TEST(ParseJson, DuplicateKeysAreRefusedInEveryObjectButNotAcrossObjects) {
    EXPECT_EQ(error_of(R"({"a": 1, "b": 2, "a": 3})"),
              R"(plan.json: the key "a" stands twice in one object; keep one)");
    EXPECT_THAT(error_of(R"({"x": [{"a": 1, "a": 1}]})"), HasSubstr("\"a\" stands twice"));
    EXPECT_THAT(error_of(R"({"a": 1, "\u0061": 2})"), HasSubstr("stands twice"));
    EXPECT_EQ(error_of(R"({"a": {"a": 1}, "b": {"a": 1}})"), "no error");
}

TEST(ParseJson, NestingIsLimitedToAHundred) {
    EXPECT_EQ(error_of(std::string(100, '[') + std::string(100, ']')), "no error");
    EXPECT_EQ(error_of(std::string(101, '[') + std::string(101, ']')), "plan.json: nested deeper than 100 levels");
    EXPECT_THAT(error_of(std::string(1'000'000, '[')), HasSubstr("nested deeper"));
    EXPECT_EQ(error_of("\"" + std::string(200, '[') + "\""), "no error") << "brackets in text do not nest";
    EXPECT_EQ(error_of("\"\\\"" + std::string(200, '[') + "\""), "no error") << "an escaped quote does not end text";
}

std::string object_of(std::size_t keys) {
    std::string text = "{";
    for (std::size_t i = 0; i < keys; ++i) text += fmt::format("\"layers.{}.weight\":\"file\",", i);
    text.back() = '}';
    return text;
}

TEST(ParseJson, ObjectsOfManyKeysAreReadInTimeThatGrowsWithThem) {
    // The weight map of a routed model of 671B parameters has some 92,000 keys.
    const auto json = parse_json(object_of(100'000), "index.json");
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ(json->size(), 100'000U);
    EXPECT_EQ(json->back(), "file");
    EXPECT_LT(growth<std::string>(25'000, object_of, [](const std::string& text) { (void)parse_json(text, "x"); }),
              quadratic_growth);
    EXPECT_LT(growth<std::string>(
                  100'000, [](std::size_t size) { return std::string(size, '['); },
                  [](const std::string& text) { (void)parse_json(text, "x"); }),
              quadratic_growth);
}

TEST(ParseJson, CountlessKeysAreRefused) {
    EXPECT_EQ(error_of(object_of(2'000'001)), "plan.json: there are more than 2000000 keys");
}

TEST(ParseJson, NumbersThatADoubleCannotHoldAreRefused) {
    EXPECT_EQ(error_of("1e400"), "plan.json: not valid JSON: number overflow parsing '1e400'");
    EXPECT_THAT(error_of("NaN"), HasSubstr("not valid JSON"));
    EXPECT_THAT(error_of("Infinity"), HasSubstr("not valid JSON"));
}

TEST(ParseJson, InvalidUtf8IsRefused) {
    EXPECT_THAT(error_of("{\"a\": \"\xff\"}"), HasSubstr("not valid JSON"));
    EXPECT_THAT(error_of(std::string("\xff\xfe{", 3)), HasSubstr("not valid JSON"));
}

TEST(ParseJson, EveryCutOfADocumentIsAnErrorNotACrash) {
    const std::string text = R"({"a": [1, -2.5e3, true, null, "x\u00e9\n"], "b": {"c": {}}})";
    ASSERT_EQ(error_of(text), "no error");
    for (std::size_t length = 0; length < text.size(); ++length) {
        EXPECT_NE(error_of(text.substr(0, length)), "no error") << length;
    }
}

TEST(Shown, LongValuesAreCutBetweenCharacters) {
    EXPECT_EQ(shown(Json("two")), "\"two\"");
    EXPECT_EQ(shown(Json::parse("[1,2]")), "[1,2]");
    EXPECT_EQ(shown(Json(std::string(100, 'x'))), "\"" + std::string(36, 'x') + "...");
    std::string umlauts;
    for (int i = 0; i < 50; ++i) umlauts += "ü";
    EXPECT_TRUE(valid_utf8(shown(Json(umlauts))));
    EXPECT_THAT(shown(Json(umlauts)), EndsWith("ü..."));
}

TEST(ValidUtf8, TellsTextFromBytes) {
    EXPECT_TRUE(valid_utf8(""));
    EXPECT_TRUE(valid_utf8("plain, ü, 船"));
    EXPECT_FALSE(valid_utf8("\xc3"));
    EXPECT_FALSE(valid_utf8("\xc0\xaf"));
}

}  // namespace
}  // namespace plimsoll
