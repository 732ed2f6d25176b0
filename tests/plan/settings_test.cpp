// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/json.h"
#include "core/plan/json_fields.h"
#include "core/plan/plan_io.h"
#include "core/plan/plan_schema.h"
#include "core/plan/presets.h"
#include "core/plan/settings.h"
#include "tests/support/random_fields.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

std::string error_of(const std::string& setting) {
    const auto plan = with_settings(Plan(), {setting});
    return plan ? "no error" : plan.error().message;
}

TEST(Settings, AreAppliedInOrder) {
    const auto plan = with_settings(Plan(), {"layout.dp=4", "optimizer.lr=3e-4", "layout.dp=8", "name=my plan"});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->layout.dp, 8);
    EXPECT_EQ(plan->optimizer.lr, 3e-4);
    EXPECT_EQ(plan->name, "my plan");
}

TEST(Settings, ReadEachTypeAsItIsTyped) {
    const auto plan = with_settings(Plan(), {"layout.sequence_parallel=true", "numerics.dtype=bf16",
                                             "numerics.attention=\"eager\"", "layout.micro_batch=4.0"});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_TRUE(plan->layout.sequence_parallel);
    EXPECT_EQ(plan->numerics.dtype, Dtype::Bf16);
    EXPECT_EQ(plan->numerics.attention, Attention::Eager);
    EXPECT_EQ(plan->layout.micro_batch, 4);
}

TEST(Settings, TextMayLookLikeJsonOrHoldAnEqualsSign) {
    for (const std::string text : {"1984", "true", "null", "{\"a\": 1}", "a=b", " spaced ", "船", ""}) {
        EXPECT_EQ(with_settings(Plan(), {"data.path=" + text})->data.path, text);
    }
    EXPECT_EQ(with_settings(Plan(), {"data.path=\"quoted\""})->data.path, "quoted");
}

TEST(Settings, ErrorsNameTheKey) {
    EXPECT_EQ(error_of("layout.dp=two"), "layout.dp is \"two\"; a whole number from 1 to 1,048,576 is needed");
    EXPECT_EQ(error_of("layout.dp="), "layout.dp is \"\"; a whole number from 1 to 1,048,576 is needed");
    EXPECT_EQ(error_of("layout.zero_stage=9"), "layout.zero_stage is 9; allowed: 0 to 3");
    EXPECT_EQ(error_of("numerics.dtype=bf61"),
              "numerics.dtype is \"bf61\"; allowed: fp32, bf16, fp16 (did you mean \"bf16\"?)");
    EXPECT_EQ(error_of("layout.sequence_parallel=yes"), "layout.sequence_parallel is \"yes\"; true or false is needed");
}

TEST(Settings, AnUnknownKeyNamesTheNearest) {
    EXPECT_EQ(error_of("layout.dpp=4"), "there is no setting \"layout.dpp\" (did you mean \"layout.dp\"?)");
    EXPECT_EQ(error_of("dp=4"), "there is no setting \"dp\" (did you mean layout.dp?)");
    EXPECT_EQ(error_of("kind=linear"), "there is no setting \"kind\" (did you mean optimizer.kind or lr.kind?)");
    EXPECT_EQ(error_of("layout=4"), "layout is a section of the plan; set one of its keys, such as layout.dp");
    EXPECT_EQ(error_of("wheelbarrow=4"), "there is no setting \"wheelbarrow\"");
    EXPECT_EQ(error_of("layout.dp.x=4"), "there is no setting \"layout.dp.x\" (did you mean \"layout.dp\"?)");
    EXPECT_THAT(error_of("plimsoll=2"), HasSubstr("there is no setting \"plimsoll\""));
}

TEST(Settings, WhatIsNoSettingIsRefused) {
    EXPECT_THAT(error_of("layout.dp"), HasSubstr("write key=value"));
    EXPECT_THAT(error_of("=4"), HasSubstr("write key=value"));
    EXPECT_THAT(error_of(""), HasSubstr("write key=value"));
    EXPECT_THAT(error_of("data.path=\xff"), HasSubstr("not valid UTF-8"));
}

TEST(Settings, APresetReplacesTheWholeModel) {
    const auto plan = with_settings(Plan(), {"model.num_layers=3", "model.preset=gpt2", "model.dropout=0"});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->model.hidden_size, 768);
    EXPECT_EQ(plan->model.num_layers, 12);
    EXPECT_EQ(plan->model.dropout, 0);
    EXPECT_EQ(to_json(*plan).at("model").dump(), R"({"preset":"gpt2","dropout":0.0})");
    EXPECT_THAT(error_of("model.preset=gtp2"),
                HasSubstr("model.preset: there is no model preset \"gtp2\" (did you mean \"gpt2\"?)"));

    const auto alone = with_settings(*plan, {"model.preset="});
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->model.hidden_size, 768);
    EXPECT_EQ(to_json(*alone).at("model").value("hidden_size", 0), 768);
    EXPECT_FALSE(to_json(*alone).at("model").contains("preset"));
}

TEST(Settings, EveryFieldCanBeSet) {
    Randomizer random(1);
    Plan wanted;
    visit_fields(random, wanted);
    Json json = Json::object();
    JsonWriter writer(json);
    visit_fields(writer, wanted);
    std::vector<std::string> settings;
    for (const FieldInfo& field : plan_fields()) {
        if (field.key == "model.preset") continue;
        const Json& value = json.at(Json::json_pointer("/" + [&] {
            std::string path = field.key;
            std::replace(path.begin(), path.end(), '.', '/');
            return path;
        }()));
        settings.push_back(field.key + "=" + value.dump());
    }
    EXPECT_GT(settings.size(), 60U);
    const auto plan = with_settings(Plan(), settings);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(*plan, wanted);
}

}  // namespace
}  // namespace plimsoll
