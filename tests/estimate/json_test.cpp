// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "core/schedule/plan_pipeline/plan_pipeline.h"

#include "core/estimate/estimate_json.h"
#include "tests/support/plans.h"

namespace plimsoll {
namespace {

TEST(EstimateJson, HoldsEveryTermInBytesWithFormulaAndSource) {
    const auto plan = gpu_plan("llama-7b", {"layout.pp=2", "layout.dp=2", "layout.accumulation=6"});
    const auto estimate = estimated(plan);
    const auto json = to_json(estimate, plan);
    EXPECT_EQ(json["model"]["parameters"], 6'738'415'616);
    EXPECT_EQ(json["model"]["name"], plan.model.name);
    EXPECT_EQ(json["usable_bytes"], estimate.usable);
    EXPECT_EQ(json["fits"], estimate.fits());
    EXPECT_EQ(json["host_bytes"], 0);
    EXPECT_DOUBLE_EQ(json["closed_form_bubble"].get<double>(), 1.0 / 7);
    EXPECT_DOUBLE_EQ(json["bubble"].get<double>(), simulate_pipeline(plan)->timeline.bubble);
    EXPECT_EQ(json["rules"].size(), 3u);
    ASSERT_EQ(json["ranks"].size(), 2u);
    for (const auto& rank : json["ranks"]) {
        std::int64_t sum = 0;
        std::set<std::string> keys;
        for (const auto& term : rank["terms"]) {
            sum += term["bytes"].get<std::int64_t>();
            keys.insert(term["key"].get<std::string>());
            for (const auto* text : {"name", "category", "formula", "source"})
                EXPECT_FALSE(term[text].get<std::string>().empty()) << term["key"];
        }
        EXPECT_EQ(rank["total_bytes"], sum);
        EXPECT_EQ(keys.size(), rank["terms"].size()) << "keys are unique";
        EXPECT_EQ(rank["ranks"], 2);
        EXPECT_EQ(rank["layers"], 16);
    }
    EXPECT_EQ(json["ranks"][0]["label"], "Stage 0");
}

TEST(EstimateJson, WithoutAPipelineThereIsNoBubble) {
    const auto plan = gpu_plan("gpt2");
    EXPECT_EQ(to_json(estimated(plan), plan)["bubble"], 0.0);
}

}  // namespace
}  // namespace plimsoll
