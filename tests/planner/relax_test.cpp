// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "core/plan/machine.h"
#include "core/plan/settings.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

PlanResult nothing_for(const PlanRequest& request) {
    const auto result = plan_layouts(request);
    EXPECT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->ranked.empty());
    EXPECT_FALSE(result->binding.empty());
    return *result;
}

bool offers(const PlanResult& result, const std::string& part) {
    return std::any_of(result.relaxations.begin(), result.relaxations.end(),
                       [&](const Relaxation& r) { return r.words.find(part) != std::string::npos; });
}

TEST(Relax, MemoryBinds) {
    auto request = request_for("llama-2-70b", 8, 8, "A100 SXM4 40GB");
    request.choices.offload_optimizer = {Offload::None};
    const auto result = nothing_for(request);
    EXPECT_THAT(result.binding, testing::HasSubstr("memory"));
    ASSERT_TRUE(result.leanest);
    EXPECT_GT(result.leanest->peak, *usable_bytes(request.plan.cluster));
    EXPECT_TRUE(offers(result, "no limit on offload"));
    EXPECT_TRUE(offers(result, "GPUs instead of 8"));
    for (const auto& r : result.relaxations) {
        ASSERT_TRUE(r.candidate) << r.words;
        // What is offered does fit: settings lead to a plan that is possible.
        auto changed = request;
        if (r.settings.empty()) continue;
        const auto plan = with_settings(request.plan, r.settings);
        ASSERT_TRUE(plan) << r.words;
        changed.plan = *plan;
        const auto again = plan_layouts(changed);
        ASSERT_TRUE(again);
        EXPECT_FALSE(again->ranked.empty()) << r.words;
    }
}

TEST(Relax, LimitsBind) {
    auto request = request_for("llama-7b", 8, 16);
    request.choices.tp = {3};
    const auto result = nothing_for(request);
    EXPECT_THAT(result.binding, testing::HasSubstr("limits"));
    EXPECT_TRUE(offers(result, "no limit on tp"));
}

TEST(Relax, TheBatchBinds) {
    auto request = request_for("t5-11b", 7, 8);
    request.plan.cluster = {"A100 SXM4 80GB", 7, 1, 0, 25};
    const auto result = nothing_for(request);
    EXPECT_THAT(result.binding, testing::HasSubstr("global batch of 8"));
    EXPECT_TRUE(offers(result, "a global batch of 7 instead of 8"));
    EXPECT_TRUE(offers(result, "a global batch of 14 instead of 8"));
}

TEST(Relax, TheLeastProbabilityBinds) {
    auto request = request_for("llama-7b", 1, 1);
    request.choices.offload_optimizer = {Offload::None};
    request.plan.optimizer.kind = OptimizerKind::AdamW8bit;
    request.plan.model.num_layers = 30;
    const auto usable = *usable_bytes(request.plan.cluster);
    request.fit_probability = 0;
    const auto any = plan_layouts(request);
    ASSERT_TRUE(any && !any->ranked.empty());
    // The leanest layout fits by its estimate; a machine of so little more runs out of memory too often.
    request.plan.cluster.usable_gib = 1.02 * static_cast<double>(any->front.back().peak) / static_cast<double>(GiB);
    ASSERT_LT(any->front.back().peak, usable);
    request.fit_probability = default_fit_probability;
    const auto result = nothing_for(request);
    EXPECT_THAT(result.binding, testing::HasSubstr("to fit with 95 %"));
    EXPECT_TRUE(offers(result, "% chance of fitting instead of 95 %"));
}

TEST(Relax, HeadroomBinds) {
    auto request = request_for("gpt2-xl", 1, 1, "T4");
    request.plan.numerics.dtype = Dtype::Fp16;
    request.headroom = 0.97;
    EXPECT_TRUE(offers(nothing_for(request), "kept free"));
}

}  // namespace
}  // namespace plimsoll
