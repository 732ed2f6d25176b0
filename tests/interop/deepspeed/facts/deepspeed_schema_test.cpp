// SPDX-License-Identifier: Apache-2.0
#include "core/interop/deepspeed/facts/deepspeed_schema.h"
#include "core/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plimsoll {
namespace {

using ::testing::Contains;
using ::testing::Not;

const DeepSpeedSchema& schema() {
    const Result<DeepSpeedSchema>& read = deepspeed_schema();
    EXPECT_TRUE(read) << read.error().message;
    return *read;
}

DeepSpeedRelease release(const char* text) { return deepspeed_release(text).value(); }

TEST(DeepSpeedSchemaTest, HasEveryKeyOfTheRealOneWithItsDefaultAndAMeaning) {
    const auto real = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/deepspeed/schema.json");
    ASSERT_TRUE(real) << real.error().message;
    EXPECT_EQ(schema().keys().size(), 326U);
    for (const Json& entry : real->at("entries")) {
        const std::string path = entry.at("key");
        const DeepSpeedKey* key = schema().find(path);
        ASSERT_TRUE(key) << path;
        EXPECT_EQ(key->default_value, entry.at("default")) << path;
        EXPECT_FALSE(key->meaning.empty()) << path;
        const bool strict = entry.at("checked_by").get<std::string>().starts_with("pydantic");
        const auto dot = path.rfind('.');
        EXPECT_EQ(schema().strict(dot == std::string::npos ? "" : path.substr(0, dot), release("0.19.8")), strict)
            << path;
    }
}

TEST(DeepSpeedSchemaTest, DefaultsAreThoseOfTheRelease) {
    EXPECT_EQ(schema().default_in("gradient_clipping", release("0.19.2")), 0.0);
    EXPECT_EQ(schema().default_in("gradient_clipping", release("0.19.3")), 1.0);
    EXPECT_EQ(schema().default_in("zero_optimization.offload_param.pin_memory", release("0.19.4")), false);
    EXPECT_EQ(schema().default_in("zero_optimization.offload_param.pin_memory", release("0.19.5")), true);
    EXPECT_EQ(schema().default_in("steps_per_print", release("0.14.4")), 10);
    EXPECT_TRUE(schema().default_in("steps_per_print", release("0.16.9")).is_null());
    EXPECT_EQ(schema().default_in("bf16.immediate_grad_update", release("0.14.4")), false);
    EXPECT_EQ(schema().default_in("bf16.immediate_grad_update", release("0.16.9")), true);
    EXPECT_EQ(schema().default_in("bf16.immediate_grad_update", release("0.19.8")), false);
}

// schema_versions.json: the keys that each of four releases had and lacked.
TEST(DeepSpeedSchemaTest, PresenceIsThatOfTheReleasesLookedAt) {
    const auto versions = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/deepspeed/schema_versions.json");
    ASSERT_TRUE(versions) << versions.error().message;
    int compared = 0;
    for (const Json& step : versions->at("steps")) {
        for (const std::string key : step.at("added")) {
            if (!schema().find(key)) continue;  // gone again since
            EXPECT_EQ(schema().presence(key, deepspeed_release(step.at("to")).value()), DeepSpeedPresence::There)
                << key;
            // Read key by key before 0.17.1, where the generated schemas do not show them.
            if (key.starts_with("fp16.")) continue;
            EXPECT_EQ(schema().presence(key, deepspeed_release(step.at("from")).value()), DeepSpeedPresence::NotYet)
                << key;
            ++compared;
        }
    }
    EXPECT_GT(compared, 100);
    // Between those four, by the sources of every release.
    EXPECT_EQ(schema().presence("compile.deepcompile", release("0.16.5")), DeepSpeedPresence::NotYet);
    EXPECT_EQ(schema().presence("compile.deepcompile", release("0.16.6")), DeepSpeedPresence::There);
    EXPECT_EQ(schema().presence("nonsense", release("0.16.2")), DeepSpeedPresence::Unknown);
}

TEST(DeepSpeedSchemaTest, BetweenTwoReleasesThatWereLookedAtAKeyMayBeThere) {
    const auto some = DeepSpeedSchema::from_json(Json::parse(R"({"keys": [{"key": "a.b", "type": "boolean",
        "default": true, "meaning": "m", "absent": "0.14.4", "since": "0.16.9"}], "removed": [], "renamed": [],
        "strict": {}, "optimizers": {}, "schedulers": {}})"));
    ASSERT_TRUE(some) << some.error().message;
    EXPECT_EQ(some->presence("a.b", release("0.14.4")), DeepSpeedPresence::NotYet);
    EXPECT_EQ(some->presence("a.b", release("0.16.2")), DeepSpeedPresence::Perhaps);
    EXPECT_EQ(some->presence("a.b", release("0.16.9")), DeepSpeedPresence::There);
}

// No key of today's is left of which it is not known in which release it came.
TEST(DeepSpeedSchemaTest, EveryKeysReleaseIsKnown) {
    for (const DeepSpeedKey& key : schema().keys()) {
        EXPECT_EQ(key.absent, DeepSpeedRelease{}) << key.key;
        for (const DeepSpeedKey::Move& move : key.moved) EXPECT_EQ(move.after, DeepSpeedRelease{}) << key.key;
    }
}

TEST(DeepSpeedSchemaTest, DifferencesFromDefaultsFollowTheRelease) {
    const Json file = Json::parse(R"({"train_batch_size": 8, "gradient_clipping": 1.0, "foo": 1,
        "zero_optimization": {"stage": 2, "reduce_bucket_size": 500000000}})");
    std::vector<std::string> keys;
    for (const auto& each : differences_from_defaults(file, schema(), release("0.19.8"))) keys.push_back(each.key);
    EXPECT_THAT(keys, ::testing::ElementsAre("train_batch_size", "foo", "zero_optimization.stage"));
    keys.clear();
    for (const auto& each : differences_from_defaults(file, schema(), release("0.18.9"))) keys.push_back(each.key);
    EXPECT_THAT(keys, Contains("gradient_clipping"));
    EXPECT_THAT(keys, Not(Contains("zero_optimization.reduce_bucket_size")));
}

TEST(DeepSpeedSchemaTest, ADamagedFileIsAnError) {
    EXPECT_FALSE(DeepSpeedSchema::from_json(Json::object()));
    EXPECT_FALSE(DeepSpeedSchema::from_json(Json::parse(R"({"keys": [{"key": 1}]})")));
}

}  // namespace
}  // namespace plimsoll
