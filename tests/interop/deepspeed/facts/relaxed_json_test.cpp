// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/relaxed_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"

namespace plimsoll {
namespace {

// Each was read by hjson 3.1.0, DeepSpeed's own reader.
TEST(RelaxedJson, ReadsWhatHjsonReads) {
    const std::pair<const char*, const char*> texts[] = {
        {R"({"a": 1, "b": [1, 2]})", R"({"a":1,"b":[1,2]})"},
        {"{\n// comment\n\"a\": 1, /* x */ \"b\": 2,\n}", R"({"a":1,"b":2})"},
        {"{\n a: 1 # one\n b: true\n c: null\n d: -1.5e3\n}", R"({"a":1,"b":true,"c":null,"d":-1500.0})"},
        {"a: 1\nb: 2", R"({"a":1,"b":2})"},
        {"{a: some text # and more\n}", R"({"a":"some text # and more"})"},
        {"{a: 1 2\n}", R"({"a":"1 2"})"},
        {"{a: [1\n2\n]}", R"({"a":[1,2]})"},
        {"{'a': 'it\\'s', b: '''\nlong\n'''}", R"({"a":"it's","b":"long"})"},
        {R"({"a": "// none # \" here"})", R"({"a":"// none # \" here"})"},
        {"{a: true, b: false}", R"({"a":true,"b":false})"},
        {"{a: trueish\n}", R"({"a":"trueish"})"},
        {"{}", "{}"},
    };
    for (const auto& [text, json] : texts) {
        const auto read = parse_relaxed_json(text, "ds.json");
        ASSERT_TRUE(read) << text << read.error().message;
        EXPECT_EQ(read->json.dump(), json) << text;
    }
}

TEST(RelaxedJson, StrictJsonIsToldFromTheRest) {
    EXPECT_EQ(parse_relaxed_json("{\"a\": 1}", "ds.json")->not_strict, "");
    EXPECT_THAT(parse_relaxed_json("{\"a\": 1,\n}", "ds.json")->not_strict, ::testing::HasSubstr("line 2"));
}

TEST(RelaxedJson, LinesStayWhereTheyWere) {
    const std::string text = "{\n// one\na: 1\n\n/* two\nlines */ b: 2\n}";
    const std::string json = as_strict_json(text);
    EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), std::count(text.begin(), text.end(), '\n'));
}

TEST(RelaxedJson, WhatHjsonRefusesIsAnErrorWithTheStrictReadersPlace) {
    for (const char* text :
         {"{\"a\": NaN}", "{\"a\": 10 20}", "{a b: 1}", "{a: }", "{\"a\": \"open\n\"}", "{a: 1", "[1"}) {
        const auto read = parse_relaxed_json(text, "ds.json");
        ASSERT_FALSE(read) << text << read->json.dump();
        EXPECT_THAT(read.error().message, ::testing::HasSubstr("line ")) << text;
    }
    EXPECT_FALSE(parse_relaxed_json("{a: 1, a: 2}", "ds.json")) << "twice the same key";
    EXPECT_FALSE(parse_relaxed_json(std::string(300, '['), "ds.json"));
}

}  // namespace
}  // namespace plimsoll
