// SPDX-License-Identifier: Apache-2.0
#include "tests/interop/exports/tool_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/interop/exports/export_target.h"
#include "tests/support/random_plans.h"
#include "tests/support/uneven_plans.h"

namespace plimsoll {
namespace {

using ::testing::HasSubstr;

constexpr std::array targets{"megatron", "torchtitan", "torchtitan-0.3", "accelerate-fsdp", "axolotl", "llama-factory"};

/// The rules that an export breaks, by their places in the tool's source.
std::vector<std::string> broken(std::string_view target, const std::string& text, const Plan& plan) {
    const ToolOptions options = ToolOptions::of(target, text);
    std::vector<std::string> places;
    for (const ToolRule& rule : tool_rules(target))
        if (!rule.holds(options, plan)) places.emplace_back(rule.place);
    return places;
}

struct Tried {
    int written = 0, refused = 0;
};

template <class Plans>
Tried try_all(Plans plans, std::string_view target, int count) {
    Tried tried;
    for (int i = 0; i < count; ++i) {
        const Plan plan = plans.next();
        const auto exported = export_plan(plan, target);
        if (!exported) {
            EXPECT_EQ(exit_code(exported.error()), 2) << exported.error().message;
            ++tried.refused;
            continue;
        }
        ++tried.written;
        EXPECT_THAT(broken(target, exported->text, plan), ::testing::IsEmpty()) << target << ":\n" << exported->text;
    }
    return tried;
}

// What is exported is accepted, whatever does not come out even; what would not be is refused.
TEST(ToolRulesTest, UnevenPlansAreAcceptedOrRefused) {
    for (const std::string_view target : targets) {
        const Tried tried = try_all(UnevenPlans(7), target, 400);
        EXPECT_GT(tried.written, 20) << target;
        EXPECT_EQ(tried.refused > 0, target != "llama-factory") << target;
    }
}

TEST(ToolRulesTest, EvenPlansAreAccepted) {
    for (const std::string_view target : targets) EXPECT_GT(try_all(RandomPlans(7), target, 200).written, 40) << target;
}

// The rules do see a fault: texts changed by hand break the one that they should.
TEST(ToolRulesTest, RulesSeeFaults) {
    UnevenPlans plans(3);
    Plan plan = plans.next();
    plan.cluster.gpus_per_node = 4;
    const auto faults = [&](const std::string& text) {
        return broken("megatron", "torchrun pretrain_gpt.py " + text, plan);
    };
    const std::string sound =
        "--num-layers 8 --pipeline-model-parallel-size 4 --global-batch-size 4 --seq-length 8 --max-position-embeddings 8 "
        "--lr-decay-iters 2 --mock-data";
    EXPECT_THAT(faults(sound), ::testing::IsEmpty());
    EXPECT_THAT(faults(sound + " --num-layers 7"), ::testing::ElementsAre(HasSubstr("arguments.py:997")));
    EXPECT_THAT(faults(sound + " --num-layers 7 --pipeline-model-parallel-layout 'Et*2|t*2|t*2|tL'"),
                ::testing::IsEmpty());
    EXPECT_THAT(faults(sound + " --num-layers 7 --pipeline-model-parallel-layout 'Et*2|t*2|t*2|t*2L'"),
                ::testing::ElementsAre(HasSubstr("arguments.py:997")));
    EXPECT_THAT(faults(sound + " --num-virtual-stages-per-pipeline-rank 2 --global-batch-size 6"),
                ::testing::ElementsAre(HasSubstr("schedules.py:1157")));
    EXPECT_THAT(faults(sound + " --lr-warmup-iters 2"), ::testing::ElementsAre(HasSubstr("scheduler.py:160")));
    EXPECT_THAT(faults(sound + " --data-path x"), ::testing::ElementsAre(HasSubstr("arguments.py:1677")));
}

}  // namespace
}  // namespace plimsoll
