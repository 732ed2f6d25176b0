// SPDX-License-Identifier: Apache-2.0
#include "core/estimate/rules_of_thumb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/plans.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

// The often quoted example: LLaMA-7B in BF16, 7e9 x 4 x 2 B = 56 GB.
TEST(RulesOfThumb, QuotedModelStatesOfLlama7B) { EXPECT_EQ(states_rule(7'000'000'000, 2), 56 * GB); }

// Its "160 GB" of activations: B 32, L 2048, H 4096, n 32, factor 10, 2 B is 160 GiB to the byte.
TEST(RulesOfThumb, QuotedActivationsOfLlama7B) { EXPECT_EQ(activations_rule(32, 2048, 4096, 32, 10, 2), 160 * GiB); }

TEST(RulesOfThumb, StandBesideTheExactTerms) {
    const auto estimate = estimated(gpu_plan("llama-7b", {"layout.dp=4", "layout.zero_stage=3"}));
    ASSERT_EQ(estimate.rules.size(), 3u);
    const auto& states = estimate.rules[0];
    EXPECT_EQ(states.rule, 8 * 6'738'415'616);
    EXPECT_EQ(states.exact, 16 * 6'738'415'616);
    EXPECT_EQ(states.formula, "4 × 6,738,415,616 × 2 B = 53.9 GB");
    EXPECT_THAT(states.note, HasSubstr("Training in bf16 takes 16 B"));
    EXPECT_THAT(states.note, HasSubstr("ZeRO-3 splits everything"));

    const auto& activations = estimate.rules[1];
    EXPECT_EQ(activations.rule, 4LL * 2048 * 4096 * 32 * 12 * 2);
    EXPECT_EQ(activations.exact, 4 * estimate.stages[0].of(Category::Activations));
    EXPECT_THAT(activations.formula, HasSubstr("4 × 2,048 × 4,096 × 32 × (10 to 12) × 2 B"));
    EXPECT_THAT(activations.note, HasSubstr("18."));  // a LLaMA layer keeps 18 to 19 values, not 10 to 12

    const auto& cards = estimate.rules[2];
    EXPECT_EQ(cards.rule, states.rule + activations.rule);
    EXPECT_EQ(cards.exact, 4 * estimate.stages[0].total());
    EXPECT_THAT(cards.note, HasSubstr("56.0 GB + 160 GB = 216 GB, so four A100-80"));
    EXPECT_THAT(cards.note, HasSubstr("172 GB"));
}

TEST(RulesOfThumb, StatesRuleIsRightForOneCopyInFp32) {
    const auto rule = estimated(gpu_plan("gpt2", {"numerics.dtype=fp32"})).rules.at(0);
    EXPECT_EQ(rule.rule, rule.exact);
    EXPECT_THAT(rule.note, HasSubstr("right for one copy"));
}

TEST(RulesOfThumb, OtherOptimizersAreNamed) {
    const auto note = [](const std::vector<std::string>& settings) {
        return estimated(gpu_plan("llama-7b", settings)).rules.at(0).note;
    };
    EXPECT_THAT(note({"optimizer.kind=sgd"}),
                HasSubstr("takes 12 B: 2 weight, 2 gradient, 4 fp32 master weight, 4 for"));
    EXPECT_THAT(note({"optimizer.kind=adamw-8bit"}), HasSubstr("takes 10 B"));
    EXPECT_THAT(note({"optimizer.kind=adafactor", "numerics.dtype=fp32"}),
                HasSubstr("takes 8 B: 4 weight, 4 gradient, next to nothing"));
}

}  // namespace
}  // namespace plimsoll
