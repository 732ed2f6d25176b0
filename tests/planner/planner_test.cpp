// SPDX-License-Identifier: Apache-2.0
#include "core/planner/planner.h"

#include <gmock/gmock.h>

#include "core/estimate/estimate_json.h"
#include "core/estimate/peak_counter.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/planner/front.h"
#include "core/planner/layout_text.h"
#include "core/planner/neighbours.h"
#include "core/planner/planner_json.h"
#include "core/planner/recommendations.h"
#include "core/planner/space.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

struct BruteForce {
    Ranking ranking;
    Front front;
    std::int64_t layouts = 0, fitting = 0;
};

/// Everything evaluated the slow way: estimate_memory and step_time of each whole plan.
BruteForce brute_force(const PlanRequest& request, bool fewer = false) {
    BruteForce all{Ranking(request.objective, request.keep), {}};
    for (const auto gpus : gpu_counts(request.plan.cluster, fewer))
        for (const auto& layout : all_layouts(request, gpus)) {
            ++all.layouts;
            Candidate c;
            c.cluster = request.plan.cluster;
            c.cluster.gpus_per_node = std::min(gpus, c.cluster.gpus_per_node);
            c.cluster.nodes = gpus / c.cluster.gpus_per_node;
            c.layout = layout;
            const auto plan = plan_of(request, c);
            const auto estimate = estimated(plan);
            if (!estimate.fits()) continue;
            ++all.fitting;
            auto hardware = *hardware_of(request.plan.cluster, plan.numerics.dtype);
            const auto report = step_time(plan, hardware, false);
            const LayoutPoint point{layout, gpus, 0, report->time.total(), estimate.fullest().total()};
            all.ranking.add(point);
            all.front.add(point);
        }
    return all;
}

void expect_same(const std::vector<Candidate>& found, const std::vector<LayoutPoint>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(layout_words(found[i].layout), layout_words(expected[i].layout)) << i;
        EXPECT_EQ(found[i].peak, expected[i].peak);
        EXPECT_NEAR(found[i].step / expected[i].step, 1, 1e-12);
        EXPECT_EQ(found[i].gpus(), expected[i].gpus);
    }
}

using Given = std::tuple<const char*, int, int, const char*, Objective>;
class PlannerOf : public testing::TestWithParam<Given> {};

TEST_P(PlannerOf, FindsWhatBruteForceFinds) {
    const auto [preset, gpus, batch, gpu, objective] = GetParam();
    auto request = request_for(preset, gpus, batch, gpu);
    request.objective = objective;
    const bool fewer = objective == Objective::FewestGpus || objective == Objective::Cost;
    const auto expected = brute_force(request, fewer);
    for (const int threads : {1, 2}) {
        request.threads = threads;
        const auto result = plan_layouts(request);
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_GT(expected.fitting, 0);
        expect_same(result->ranked, expected.ranking.sorted());
        expect_same(result->front, expected.front.sorted());
        EXPECT_EQ(result->counts.layouts, expected.layouts);
        EXPECT_EQ(result->counts.evaluated + result->counts.pruned, expected.layouts);
        EXPECT_LE(result->counts.evaluated, expected.layouts);
        EXPECT_TRUE(result->binding.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Clusters, PlannerOf,
                         testing::Values(Given{"llama-7b", 8, 16, "A100 SXM4 80GB", Objective::Time},
                                         Given{"llama-7b", 8, 12, "A100 SXM4 40GB", Objective::Memory},
                                         Given{"gpt2-xl", 4, 6, "GeForce RTX 4090", Objective::Time},
                                         Given{"gpt2-xl", 16, 16, "GeForce RTX 4090", Objective::FewestGpus},
                                         Given{"llama-13b", 8, 8, "A100 SXM4 80GB", Objective::Cost},
                                         Given{"mixtral-8x7b", 16, 16, "H200 SXM", Objective::Time},
                                         Given{"t5-11b", 8, 8, "A100 SXM4 80GB", Objective::Time}));

TEST(Planner, BoundsHoldForEveryLayout) {
    for (const auto* preset : {"llama-7b", "mixtral-8x7b", "gpt2-xl"}) {
        auto request = request_for(preset, 8, 8);
        const auto hardware = *hardware_of(request.plan.cluster, request.plan.numerics.dtype);
        PeakCounter peaks(request.plan);
        for (const auto& layout : all_layouts(request, 8)) {
            const auto peak = peaks.fullest(layout);
            ASSERT_LE(peaks.states(layout), peak) << layout_words(layout);
            ASSERT_LE(peaks.at_least(layout), peak) << layout_words(layout);
            ASSERT_LE(peaks.fullest(layout, peak - 1), peak);
            ASSERT_GT(peaks.fullest(layout, peak - 1), peak - 1);
        }
    }
}

TEST(Planner, HowManyGpusDoINeed) {
    auto request = request_for("llama-2-70b", 64, 64, "H100 SXM5 80GB");
    request.objective = Objective::FewestGpus;
    request.choices.offload_optimizer = {Offload::None};
    const auto result = plan_layouts(request);
    ASSERT_TRUE(result);
    ASSERT_FALSE(result->ranked.empty());
    const auto fewest = result->ranked.front().gpus();
    // 70e9 x 16 B of states alone are 14 cards of 80 GB.
    EXPECT_GE(fewest, 16);
    EXPECT_LE(fewest, 24);
    for (const auto& c : result->front) EXPECT_GE(c.gpus(), fewest);
}

TEST(Planner, UnequalGpusAreUsedForWhatTheyAreWorth) {
    auto request = request_for("llama-7b", 8, 64);
    request.more = {{"H100 SXM5 80GB", 8, 1, 0, 50}};
    const auto result = plan_layouts(request);
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_FALSE(result->ranked.empty());
    EXPECT_EQ(result->notes.size(), 3u);
    // Sixteen cards as slow as an A100 are faster than eight H100, whose step is more than half as long.
    auto alone = request;
    alone.more.clear();
    alone.plan.cluster = {"H100 SXM5 80GB", 8, 1, 0, 50};
    const auto h100 = plan_layouts(alone);
    ASSERT_TRUE(h100);
    EXPECT_LE(result->ranked.front().step, h100->ranked.front().step);
    request.more = {{"H100 SXM5 80GB", 0, 1, 0, 50}};
    EXPECT_FALSE(plan_layouts(request).has_value() && plan_layouts(request)->ranked.empty());
}

TEST(Planner, TellsWhatItHasAndStopsWhenAsked) {
    auto request = request_for("llama-3-405b", 4096, 4096, "H100 SXM5 80GB");
    std::atomic<bool> cancel{true};
    const auto stopped = plan_layouts(request, {}, &cancel);
    ASSERT_TRUE(stopped);
    EXPECT_EQ(stopped->counts.layouts, 0);
    EXPECT_TRUE(stopped->relaxations.empty());
}

TEST(Planner, AppliedItIsThePlan) {
    const auto request = request_for("llama-7b", 8, 16);
    const auto result = plan_layouts(request);
    ASSERT_TRUE(result);
    const auto plan = plan_of(request, result->ranked.front());
    EXPECT_TRUE(check_plan(plan).empty());
    EXPECT_EQ(estimated(plan).fullest().total(), result->ranked.front().peak);
    const auto json = to_json(request, *result);
    EXPECT_EQ(json["ranked"].size(), result->ranked.size());
    EXPECT_EQ(json["counts"]["layouts"], result->counts.layouts);
    EXPECT_EQ(json["ranked"][0]["layout"]["tp"], plan.layout.tp);
}

TEST(Planner, NeighboursAreWorseOrImpossible) {
    const auto request = request_for("llama-13b", 8, 16);
    const auto result = plan_layouts(request);
    ASSERT_TRUE(result);
    const auto& best = result->ranked.front();
    const auto all = neighbours(request, best);
    EXPECT_GT(all.size(), 8u);
    const auto usable = *usable_bytes(request.plan.cluster);
    for (const auto& n : all) {
        EXPECT_FALSE(n.reason.empty()) << n.change;
        if (n.candidate && n.candidate->peak <= usable) {
            EXPECT_GE(n.candidate->step, best.step) << n.change;
        }
    }
}

TEST(Planner, RulesOfTheGuideStandBesideIt) {
    const auto rules = [](const PlanRequest& request) {
        const auto result = plan_layouts(request);
        EXPECT_TRUE(result);
        return recommendations(request, *result);
    };
    const auto of = [](const std::vector<Recommendation>& all, const char* part) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](auto& r) { return r.rule.find(part) != std::string::npos; });
        EXPECT_NE(found, all.end()) << part;
        return found == all.end() ? Recommendation{} : *found;
    };
    auto seven = request_for("llama-7b", 8, 16);
    seven.objective = Objective::FewestGpus;
    EXPECT_TRUE(of(rules(seven), "up to 7B").holds) << "with the optimizer on the host";
    auto volta = request_for("gpt2-xl", 8, 16, "V100 SXM2 32GB");
    volta.plan.numerics.dtype = Dtype::Fp16;
    EXPECT_TRUE(of(rules(volta), "bf16").holds);
    EXPECT_FALSE(of(rules(request_for("llama-2-70b", 64, 128)), "ZeRO-3").why.empty());
}

TEST(Planner, BadRequestsAreRefusedInASentence) {
    auto request = request_for("llama-7b", 8, 16);
    request.plan.cluster.gpu = "no such card";
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("no such card"));
    request = request_for("llama-7b", 8, 16);
    request.headroom = 1.5;
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("headroom"));
    request = request_for("llama-7b", 8, -3);
    request.plan.layout.dp = 0;
    EXPECT_FALSE(plan_layouts(request));
    request = request_for("llama-7b", 8, 16);
    request.plan.model.hidden_size = -1;
    EXPECT_FALSE(plan_layouts(request));
}

}  // namespace
}  // namespace plimsoll
