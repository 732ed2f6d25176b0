// SPDX-License-Identifier: Apache-2.0
#include "core/planner/space.h"

#include <gmock/gmock.h>

#include <set>
#include <tuple>

#include "core/plan/adapter.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/schedule_kind.h"
#include "core/planner/layout_text.h"
#include "core/schedule/generators/make_schedule.h"
#include "core/schedule/schedule.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

auto key(const Layout& l) {
    return std::tuple(l.dp, l.tp, l.pp, l.cp, l.ep, l.sequence_parallel, l.zero_stage, l.micro_batch, l.accumulation,
                      l.schedule, takes_chunks(l.schedule) && l.pp > 1 ? l.chunks : 1, l.recompute,
                      l.offload_optimizer);
}
using Keys = std::set<decltype(key(Layout{}))>;

/// Every combination of numbers that check_plan and make_schedule let pass.
Keys by_trying(const PlanRequest& request, std::int64_t gpus) {
    Keys all;
    Plan plan = request.plan;
    const auto batch = global_batch_of(request);
    const auto layers = plan.model.num_layers;
    for (std::int64_t tp = 1; tp <= gpus; ++tp)
        for (std::int64_t pp = 1; tp * pp <= gpus; ++pp)
            for (std::int64_t cp = 1; tp * pp * cp <= gpus; ++cp)
                for (std::int64_t ep = 1; ep <= (plan.model.moe() ? gpus : 1); ++ep)
                    for (std::int64_t micro = 1; micro <= batch; ++micro)
                        for (int choice = 0; choice < 2 * 4 * 4 * 2; ++choice)
                            for (std::size_t kind = 0; kind < schedule_names.size(); ++kind)
                                for (std::int64_t chunks = 1; chunks <= layers; ++chunks) {
                                    Layout& l = plan.layout;
                                    if (gpus % (tp * pp * cp) != 0) continue;
                                    l.tp = tp, l.pp = pp, l.cp = cp, l.ep = ep, l.dp = gpus / tp / pp / cp;
                                    if (batch % (l.dp * micro) != 0) continue;
                                    l.micro_batch = micro, l.accumulation = batch / l.dp / micro;
                                    l.schedule = static_cast<Schedule>(kind);
                                    if (l.schedule == Schedule::Zb1p || l.schedule == Schedule::Zb2p) continue;
                                    if (pp == 1 && l.schedule != Schedule::OneFOneB) continue;
                                    // The space has the chunk counts that give each rank as many layers.
                                    if (!takes_chunks(l.schedule) && chunks != 1) continue;
                                    if (takes_chunks(l.schedule) && (chunks < 2 || layers % (pp * chunks) != 0))
                                        continue;
                                    l.chunks = takes_chunks(l.schedule) ? chunks : 2;
                                    l.sequence_parallel = choice % 2 == 1;
                                    l.zero_stage = choice / 2 % 4;
                                    l.recompute = static_cast<Recompute>(choice / 8 % 4);
                                    // Flash attention holds no scores to compute again.
                                    if (l.recompute == Recompute::Selective) continue;
                                    l.offload_optimizer = choice / 32 == 1 ? Offload::Cpu : Offload::None;
                                    if (!check_plan(plan).empty() || l.zero_stage > most_zero_stage(plan)) continue;
                                    if (pp > 1 && !make_schedule(l.schedule, {static_cast<int>(pp),
                                                                              static_cast<int>(l.accumulation),
                                                                              static_cast<int>(l.chunks)}))
                                        continue;
                                    all.insert(key(l));
                                }
    return all;
}

void expect_what_passes(PlanRequest request, std::int64_t gpus) {
    request.plan.model.num_layers = 4;
    Keys listed;
    for (const auto& layout : all_layouts(request, gpus)) {
        EXPECT_TRUE(listed.insert(key(layout)).second) << layout_words(layout) << " twice";
        auto plan = request.plan;
        plan.layout = layout;
        const auto problems = check_plan(plan);
        ASSERT_TRUE(problems.empty()) << layout_words(layout) << ": " << problems.front().sentence;
    }
    EXPECT_EQ(listed, by_trying(request, gpus));
    EXPECT_GT(listed.size(), 20u);
}

class SpaceOf : public testing::TestWithParam<std::tuple<const char*, std::int64_t, std::int64_t>> {};

TEST_P(SpaceOf, IsWhatCheckPlanLetsPass) {
    const auto [preset, gpus, batch] = GetParam();
    auto request = request_for(preset, gpus, batch);
    expect_what_passes(request, gpus);
}

TEST(Space, KnowsWhatNormsAndAdaptersRuleOut) {
    auto request = request_for("llama-7b", 4, 4);
    request.plan.model.qk_norm = true;
    expect_what_passes(request, 4);
    request.plan.model.qk_norm = false;
    request.plan.model.norm_placement = NormPlacement::Sandwich;
    expect_what_passes(request, 4);
    request.plan.model.norm_placement = NormPlacement::Pre;
    request.plan.adapter.rank = 8;
    expect_what_passes(request, 4);
}

INSTANTIATE_TEST_SUITE_P(Models, SpaceOf,
                         testing::Values(std::tuple("llama-7b", 8, 8), std::tuple("gpt2-xl", 4, 6),
                                         std::tuple("mixtral-8x7b", 8, 4), std::tuple("t5-11b", 4, 4),
                                         std::tuple("llama-2-70b", 6, 12)));

TEST(Space, ChoicesLimitIt) {
    auto request = request_for("llama-7b", 8, 16);
    request.choices.tp = {2};
    request.choices.zero_stage = {1};
    request.choices.recompute = {Recompute::Full};
    request.choices.schedule = {Schedule::OneFOneB};
    const auto layouts = all_layouts(request, 8);
    ASSERT_FALSE(layouts.empty());
    for (const auto& l : layouts) {
        EXPECT_EQ(l.tp, 2);
        EXPECT_EQ(l.zero_stage, 1);
        EXPECT_EQ(l.recompute, Recompute::Full);
        EXPECT_EQ(l.schedule, Schedule::OneFOneB);
        EXPECT_EQ(l.global_batch(), 16);
        EXPECT_EQ(l.world_size(), 8);
    }
}

TEST(Space, SelectiveRecomputationIsForScores) {
    auto request = request_for("llama-7b", 8, 16);
    EXPECT_THAT(recompute_choices(request), testing::Not(testing::Contains(Recompute::Selective)));
    request.plan.numerics.attention = Attention::Eager;
    EXPECT_EQ(recompute_choices(request).size(), recompute_names.size());
    request.plan.numerics.attention = Attention::Flash;
    request.choices.recompute = {Recompute::Selective};
    EXPECT_THAT(recompute_choices(request), testing::ElementsAre(Recompute::Selective));
}

TEST(Space, GpuCountsAscend) {
    Cluster cluster{"A100 SXM4 80GB", 8, 64, 0, 25};
    EXPECT_THAT(gpu_counts(cluster, false), testing::ElementsAre(512));
    const auto counts = gpu_counts(cluster, true);
    EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
    EXPECT_EQ(counts.front(), 1);
    EXPECT_EQ(counts.back(), 512);
    EXPECT_THAT(divisors(12), testing::ElementsAre(1, 2, 3, 4, 6, 12));
}

}  // namespace
}  // namespace plimsoll
