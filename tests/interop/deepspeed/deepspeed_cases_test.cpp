// SPDX-License-Identifier: Apache-2.0
// What DeepSpeed's own parser said of each recorded file under four releases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "core/base/json.h"
#include "core/interop/deepspeed/lint/deepspeed_lint.h"

namespace plimsoll {
namespace {

using Level = DeepSpeedFinding::Level;

Json recorded_cases() {
    const auto json = read_json(PLIMSOLL_SOURCE_DIR "/tests/oracles/deepspeed/cases.json");
    EXPECT_TRUE(json) << json.error().message;
    return json ? json->at("cases") : Json::array();
}

std::set<std::string> keys_of(const DeepSpeedLint& lint, const std::set<std::string>& rules) {
    std::set<std::string> keys;
    for (const DeepSpeedFinding& each : lint.findings) {
        if (rules.contains(each.rule)) keys.insert(each.key);
    }
    return keys;
}

std::string all_of(const DeepSpeedLint& lint) {
    std::string text;
    for (const DeepSpeedFinding& each : lint.findings) {
        text += fmt::format("{} {} {}: {}\n", level_name(each.level), each.rule, each.key, each.sentence);
    }
    return text;
}

TEST(DeepSpeedCases, VerdictsAreThoseOfTheRealParser) {
    int compared = 0;
    for (const Json& each : recorded_cases()) {
        const std::string text = each.at("config_text");
        for (const auto& [release, expected] : each.at("expected").items()) {
            SCOPED_TRACE(fmt::format("{} under {}", each.at("name").get<std::string>(), release));
            DeepSpeedLaunch launch;
            launch.world = each.at("world_size");
            launch.release = release;
            const auto lint = lint_deepspeed(text, "ds.json", launch);
            const bool accepted = lint && lint->accepted();
            EXPECT_EQ(accepted, expected.at("status") == "ok")
                << (lint ? all_of(*lint) : lint.error().message) << expected.at("error");
            ++compared;
            if (!lint) continue;
            EXPECT_EQ(keys_of(*lint, {"auto"}), expected.at("auto").get<std::set<std::string>>()) << all_of(*lint);
            EXPECT_EQ(keys_of(*lint, {"unknown-key", "wrong-block", "elastic-block"}).size() +
                          keys_of(*lint, {"removed"}).size() * (release == "0.19.8" ? 1U : 0U),
                      expected.at("unknown").size())
                << all_of(*lint);
            if (!expected.at("danger").empty()) {
                EXPECT_EQ(keys_of(*lint, {"hysteresis"}), expected.at("danger").get<std::set<std::string>>());
            }
            if (expected.at("resolved").is_null() || !accepted) continue;
            ASSERT_TRUE(lint->batch) << all_of(*lint);
            const Json& resolved = expected.at("resolved");
            EXPECT_EQ(lint->batch->train, resolved.at("train_batch_size"));
            EXPECT_EQ(lint->batch->micro, resolved.at("train_micro_batch_size_per_gpu"));
            EXPECT_EQ(lint->batch->accumulation, resolved.at("gradient_accumulation_steps"));
            EXPECT_EQ(lint->zero_stage, resolved.at("zero_stage"));
        }
    }
    EXPECT_EQ(compared, 35 * 4);
}

TEST(DeepSpeedCases, TheGuidesConfigsAreAcceptedAndTheSecondOnesGapsAreNamed) {
    const Json cases = recorded_cases();
    DeepSpeedLaunch launch;
    launch.world = cases.at(1).at("world_size");
    const auto lint = lint_deepspeed(cases.at(1).at("config_text").get<std::string>(), "ds.json", launch);
    ASSERT_TRUE(lint) << lint.error().message;
    EXPECT_TRUE(lint->accepted());
    EXPECT_EQ(keys_of(*lint, {"number-checkpoints"}),
              std::set<std::string>{"activation_checkpointing.number_checkpoints"});
    EXPECT_EQ(keys_of(*lint, {"client-optimizer"}), std::set<std::string>{"zero_optimization.offload_optimizer"});
    EXPECT_EQ(keys_of(*lint, {"moved-default"}),
              (std::set<std::string>{"gradient_clipping", "zero_optimization.offload_optimizer.pin_memory"}));
    EXPECT_FALSE(lint->clean());
}

TEST(DeepSpeedCases, AGoodFileIsClean) {
    const Json cases = recorded_cases();
    DeepSpeedLaunch launch;
    launch.world = 8;
    const auto lint = lint_deepspeed(cases.back().at("config_text").get<std::string>(), "ds.json", launch);
    ASSERT_TRUE(lint) << lint.error().message;
    // b33 leaves out one key whose default moved.
    for (const DeepSpeedFinding& each : lint->findings) {
        EXPECT_TRUE(each.level == Level::Note || each.key == "bf16.check_grad_overflow") << each.sentence;
    }
}

}  // namespace
}  // namespace plimsoll
