// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/plan_pipeline/advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/plan/presets.h"

namespace plimsoll {
namespace {

using testing::Contains;
using testing::HasSubstr;

Plan deep_plan() {
    Plan plan;
    plan.model = model_preset("llama-7b").value();
    plan.layout.dp = 1;
    plan.layout.pp = 8;
    plan.layout.accumulation = 16;
    return plan;
}

TEST(Alternatives, AreTheSimulatedSchedules) {
    const auto all = alternatives(deep_plan());
    ASSERT_EQ(all.size(), schedule_names.size());
    for (const auto& other : all) {
        auto plan = deep_plan();
        plan.layout.schedule = other.kind;
        const auto pipeline = simulate_pipeline(plan);
        ASSERT_TRUE(pipeline);
        EXPECT_TRUE(other.possible) << other.reason;
        EXPECT_DOUBLE_EQ(other.bubble, pipeline->timeline.bubble) << schedule_title(other.kind);
    }
    EXPECT_DOUBLE_EQ(all[static_cast<std::size_t>(Schedule::OneFOneB)].peak_micro_batches, 8);
    EXPECT_DOUBLE_EQ(all[static_cast<std::size_t>(Schedule::GPipe)].peak_micro_batches, 16);
}

// Typed times go with their ranks: F = B = W = 1 and nothing to send gives every closed form.
TEST(Alternatives, KeepTypedTimes) {
    const auto plan = deep_plan();
    const auto typed = *simulate_pipeline(Schedule::OneFOneB, {8, 16}, StageTimes::uniform(8, 1, 1, 1));
    for (const auto& other : alternatives(plan, typed)) {
        const auto form = closed_form_bubble(other.kind, {8, 16, 2}, 1, 1, 1);
        if (other.kind == Schedule::GPipe || other.kind == Schedule::OneFOneB || other.kind == Schedule::Interleaved ||
            other.kind == Schedule::BreadthFirst) {
            EXPECT_NEAR(other.bubble, form->bubble, 1e-12) << schedule_title(other.kind);
        }
        if (other.kind == Schedule::ZbH1 || other.kind == Schedule::ZbV) {
            EXPECT_NEAR(other.bubble_per_rank, form->bubble, 1e-12) << schedule_title(other.kind);
        }
    }
}

TEST(Alternatives, SayWhyOneIsNotPossible) {
    auto plan = deep_plan();
    plan.layout.accumulation = 8;
    const auto all = alternatives(plan);
    const auto& dual = all[static_cast<std::size_t>(Schedule::DualPipeV)];
    EXPECT_FALSE(dual.possible);
    EXPECT_THAT(dual.reason, HasSubstr("two micro-batches a rank"));
    plan.layout.pp = 32;
    EXPECT_THAT(alternatives(plan)[static_cast<std::size_t>(Schedule::ZbV)].reason, HasSubstr("64 stages"));
    plan.layout.pp = 1;
    EXPECT_TRUE(alternatives(plan).empty());
}

TEST(PipelineAdvice, SpeaksOfThisPlan) {
    auto plan = deep_plan();
    plan.layout.pp = 16;
    plan.layout.accumulation = 8;
    const auto pipeline = *simulate_pipeline(plan);
    std::vector<std::string> advice;
    for (const auto& one : shape_advice(plan, pipeline)) advice.push_back((one.good ? "good: " : "") + one.words);
    for (const auto& one : schedule_advice(pipeline, alternatives(plan))) advice.push_back(one.words);
    EXPECT_THAT(advice, Contains(HasSubstr("as few as 2 layers")));
    EXPECT_THAT(advice, Contains(HasSubstr("16 stages are many")));
    EXPECT_THAT(advice, Contains(HasSubstr("8 micro-batches cannot fill 16 stages")));
    EXPECT_THAT(advice, Contains(HasSubstr("would shorten the step by")));
    plan.layout.pp = 1;
    EXPECT_TRUE(shape_advice(plan, pipeline).empty());
}

TEST(PipelineAdvice, SaysWhatIsRightToo) {
    auto plan = deep_plan();
    plan.layout.pp = 4;
    plan.layout.accumulation = 64;
    plan.layout.split = Split::Balanced;
    const auto advice = shape_advice(plan, *simulate_pipeline(plan));
    ASSERT_EQ(advice.size(), 4U);  // layers, stages, micro-batches, balance
    for (const auto& one : advice) EXPECT_TRUE(one.good) << one.words;
    EXPECT_THAT(advice[0].words, HasSubstr("layers a stage"));
    // Typed times say nothing of the layers' balance.
    EXPECT_EQ(shape_advice(plan, *simulate_pipeline(plan, StageTimes::uniform(4, 1, 1, 1))).size(), 3U);
    plan.layout.split = Split::Even;
    plan.model.vocab_size *= 8;
    EXPECT_THAT(shape_advice(plan, *simulate_pipeline(plan)).back().words, HasSubstr("(layout.split balanced)"));
}

TEST(WhyNotClosedForm, NamesTheCause) {
    const auto same = *simulate_pipeline(Schedule::OneFOneB, {4, 8}, StageTimes::uniform(4, 1, 1, 1));
    EXPECT_EQ(why_not_closed_form(same), "");
    const auto sends = *simulate_pipeline(Schedule::OneFOneB, {4, 8}, StageTimes::uniform(4, 1, 1, 1, 0.5));
    EXPECT_THAT(why_not_closed_form(sends), HasSubstr("sends take time"));
    auto times = StageTimes::uniform(4, 1, 1, 1);
    times.forward[3] = 2;
    EXPECT_THAT(why_not_closed_form(*simulate_pipeline(Schedule::OneFOneB, {4, 8}, times)),
                HasSubstr("the stages are not equal"));
}

}  // namespace
}  // namespace plimsoll
