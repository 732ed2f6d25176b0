// SPDX-License-Identifier: Apache-2.0
// docs/plan.md and docs/plan.schema.json are made from the field list; these tests keep them up to date.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"
#include "core/plan/presets.h"

namespace plimsoll {
namespace {

const std::filesystem::path docs = std::filesystem::path(PLIMSOLL_SOURCE_DIR) / "docs";

void expect_up_to_date(const std::string& name, const std::string& contents) {
    if (std::getenv("PLIMSOLL_UPDATE_DOCS")) {
        ASSERT_TRUE(write_file_atomic(docs / name, contents));
    }
    EXPECT_EQ(read_file(docs / name).value_or("<missing>"), contents)
        << "docs/" << name
        << " is out of date; write it again with PLIMSOLL_UPDATE_DOCS=1 test_plan --gtest_filter=Docs.*";
}

TEST(Docs, ThePlanReferenceIsUpToDate) { expect_up_to_date("plan.md", plan_reference()); }

TEST(Docs, ThePlanSchemaIsUpToDate) { expect_up_to_date("plan.schema.json", plan_schema().dump(2) + "\n"); }

TEST(Docs, TheExampleIsAPossiblePlanWithoutUnknownKeys) {
    const std::string page = plan_reference();
    const std::size_t begin = page.find("    {\n");
    const std::size_t end = page.find("    }\n", begin);
    ASSERT_NE(end, std::string::npos);
    const auto loaded = parse_json(page.substr(begin, end - begin + 6), "docs/plan.md").and_then([](const Json& json) {
        return plan_from_json(json, "docs/plan.md");
    });
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(loaded->notes.empty());
    EXPECT_TRUE(check_plan(loaded->plan).empty());
}

TEST(PlanFields, AreUniqueDottedKeysWithHelp) {
    std::set<std::string> keys;
    for (const FieldInfo& field : plan_fields()) {
        EXPECT_TRUE(keys.insert(field.key).second) << field.key;
        EXPECT_FALSE(field.help.empty()) << field.key;
        EXPECT_FALSE(field.type.empty()) << field.key;
    }
    EXPECT_TRUE(keys.contains("name"));
    EXPECT_TRUE(keys.contains("layout.zero_stage"));
    EXPECT_TRUE(keys.contains("export.deepspeed_release"));
}

TEST(PlanFields, SayTypeRangeAndDefault) {
    for (const FieldInfo& field : plan_fields()) {
        if (field.key != "layout.zero_stage") continue;
        EXPECT_EQ(field.type, "whole number");
        EXPECT_EQ(field.allowed, "0 to 3");
        EXPECT_EQ(field.default_value, "0");
        return;
    }
    FAIL() << "layout.zero_stage is missing";
}

/// Whether the schema's keywords that the plan uses accept the value.
bool accepts(const Json& schema, const Json& value) {
    if (schema.contains("enum")) return std::ranges::count(schema.at("enum"), value) == 1;
    if (schema.contains("const")) return schema.at("const") == value;
    const std::string type = schema.at("type");
    if (type == "object") {
        if (!value.is_object()) return false;
        for (const auto& [key, child] : value.items()) {
            if (schema.at("properties").contains(key) && !accepts(schema.at("properties").at(key), child)) return false;
        }
        return true;
    }
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer" && !value.is_number_integer()) return false;
    if (!value.is_number()) return false;
    if (schema.contains("minimum") && value < schema.at("minimum")) return false;
    if (schema.contains("exclusiveMinimum") && value <= schema.at("exclusiveMinimum")) return false;
    return value <= schema.at("maximum");
}

TEST(PlanSchema, AcceptsEveryPresetAndRefusesWhatTheReaderRefuses) {
    const Json schema = plan_schema();
    for (const std::string& name : plan_preset_names())
        EXPECT_TRUE(accepts(schema, to_json(*plan_preset(name)))) << name;
    EXPECT_TRUE(accepts(schema, Json::parse(R"({"plimsoll": 1, "unknown": 5})")));
    for (const char* wrong : {R"({"plimsoll": 2})", R"({"layout": {"zero_stage": 5}})", R"({"layout": {"dp": "two"}})",
                              R"({"numerics": {"dtype": "bf61"}})", R"({"optimizer": {"lr": 0}})"}) {
        EXPECT_FALSE(accepts(schema, Json::parse(wrong))) << wrong;
    }
}

TEST(PlanSchema, HasAPropertyForEveryField) {
    const Json schema = plan_schema();
    for (const FieldInfo& field : plan_fields()) {
        const std::size_t dot = field.key.find('.');
        const Json& top = schema.at("properties").at(field.key.substr(0, dot));
        const Json& property = dot == std::string::npos ? top : top.at("properties").at(field.key.substr(dot + 1));
        EXPECT_EQ(property.at("description"), field.help);
        EXPECT_EQ(property.at("default").dump(), field.default_value);
    }
}

}  // namespace
}  // namespace plimsoll
