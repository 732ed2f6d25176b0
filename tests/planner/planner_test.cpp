// SPDX-License-Identifier: Apache-2.0
#include "core/planner/planner.h"

#include <gmock/gmock.h>

#include <set>

#include "core/estimate/estimate_json.h"
#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/planner/fit_limit.h"
#include "core/planner/framework_rules.h"
#include "core/planner/front.h"
#include "core/planner/layout_text.h"
#include "core/planner/memory_counter.h"
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

/// Whether a layout is offered, by its whole estimate: the probability itself in place of a limit of bytes.
bool fits(const PlanRequest& request, const Plan& plan, const MemoryEstimate& estimate) {
    const auto memory = static_cast<Bytes>((1 - request.headroom) * static_cast<double>(estimate.usable));
    const auto peak = estimate.fullest().total();
    if (peak > memory) return false;
    if (out_of_memory_probability(request.framework, peak, memory, !plan.cluster.on_cpu()) >
        1 - request.fit_probability)
        return false;
    const auto on_machine = std::min(plan.cluster.gpus_per_node, plan.cluster.world_size());
    return request.host_memory == 0 || estimate.host * on_machine <= request.host_memory;
}

/// Everything evaluated the slow way: estimate_under and step_time of each whole plan.
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
            const auto estimate = estimate_under(request.framework, plan);
            if (!estimate || !fits(request, plan, *estimate)) continue;
            ++all.fitting;
            auto hardware = *hardware_of(request.plan.cluster, plan.numerics.dtype);
            const auto report = step_time(plan, hardware, false);
            const LayoutPoint point{layout, gpus, 0, report->time.total(), estimate->fullest().total()};
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

struct Given {
    const char* preset;
    int gpus, batch;
    const char* gpu;
    Objective objective;
    Framework framework = Framework::Plimsoll;
    double probability = default_fit_probability;
    Bytes host = 0;
};
class PlannerOf : public testing::TestWithParam<Given> {};

TEST_P(PlannerOf, FindsWhatBruteForceFinds) {
    const auto& given = GetParam();
    auto request = request_for(given.preset, given.gpus, given.batch, given.gpu);
    request.objective = given.objective;
    request.framework = given.framework;
    request.fit_probability = given.probability;
    request.host_memory = given.host;
    const bool fewer = given.objective == Objective::FewestGpus || given.objective == Objective::Cost;
    const auto expected = brute_force(request, fewer);
    for (const int threads : {1, 2}) {
        request.threads = threads;
        const auto result = plan_layouts(request);
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_GT(expected.fitting, 0);
        expect_same(result->ranked, expected.ranking.sorted());
        expect_same(result->front, expected.front.sorted());
        for (const auto& c : result->ranked) {
            const auto estimate = estimate_under(request.framework, plan_of(request, c));
            ASSERT_TRUE(estimate);
            EXPECT_EQ(c.host, estimate->host);
            EXPECT_DOUBLE_EQ(c.out_of_memory,
                             out_of_memory_probability(request.framework, c.peak, estimate->usable, true));
        }
        EXPECT_EQ(result->counts.layouts, expected.layouts);
        EXPECT_EQ(result->counts.evaluated + result->counts.pruned, expected.layouts);
        EXPECT_LE(result->counts.evaluated, expected.layouts);
        EXPECT_TRUE(result->binding.empty());
    }
}

INSTANTIATE_TEST_SUITE_P(
    Clusters, PlannerOf,
    testing::Values(Given{"llama-7b", 8, 16, "A100 SXM4 80GB", Objective::Time},
                    Given{"llama-7b", 8, 12, "A100 SXM4 40GB", Objective::Memory},
                    Given{"gpt2-xl", 4, 6, "GeForce RTX 4090", Objective::Time},
                    Given{"gpt2-xl", 16, 16, "GeForce RTX 4090", Objective::FewestGpus},
                    Given{"llama-13b", 8, 8, "A100 SXM4 80GB", Objective::Cost},
                    Given{"mixtral-8x7b", 16, 16, "H200 SXM", Objective::Time},
                    Given{"t5-11b", 8, 8, "A100 SXM4 80GB", Objective::Time},
                    Given{"llama-7b", 8, 16, "A100 SXM4 80GB", Objective::Time, Framework::Plimsoll, 0},
                    Given{"llama-13b", 4, 8, "A100 SXM4 40GB", Objective::Memory, Framework::Plimsoll, 0.5, 200 * GiB},
                    Given{"llama-13b", 8, 16, "H100 SXM5 80GB", Objective::Time, Framework::Plimsoll, 0.95, 64 * GiB},
                    Given{"llama-7b", 8, 16, "A100 SXM4 80GB", Objective::Time, Framework::DeepSpeed},
                    Given{"llama-3-8b", 8, 16, "H100 SXM5 80GB", Objective::Time, Framework::Megatron},
                    Given{"mixtral-8x7b", 16, 16, "H200 SXM", Objective::Memory, Framework::Megatron},
                    Given{"llama-3-8b", 8, 16, "H100 SXM5 80GB", Objective::Time, Framework::TorchTitan},
                    Given{"gpt2-xl", 4, 8, "A100 SXM4 80GB", Objective::Cost, Framework::HfTrainer}));

TEST(Planner, BoundsHoldForEveryLayout) {
    for (const auto framework : frameworks)
        for (const auto* preset : {"llama-7b", "mixtral-8x7b", "gpt2-xl"}) {
            auto request = request_for(preset, 8, 8);
            request.framework = framework;
            MemoryCounter peaks(framework, request.plan);
            for (const auto& layout : all_layouts(request, 8)) {
                const auto peak = peaks.fullest(layout);
                ASSERT_LE(peaks.states(layout), peak) << name_of(framework) << ": " << layout_words(layout);
                ASSERT_LE(peaks.at_least(layout), peak) << name_of(framework) << ": " << layout_words(layout);
                if (framework != Framework::Plimsoll) continue;
                ASSERT_LE(peaks.fullest(layout, peak - 1), peak);
                ASSERT_GT(peaks.fullest(layout, peak - 1), peak - 1);
            }
        }
}

TEST(Planner, ALimitOfBytesIsTheProbability) {
    const Bytes memory = 79 * GiB;
    for (const auto framework : frameworks)
        for (const bool on_gpu : {true, false}) {
            Bytes before = memory;
            for (const double probability : {0.0, 0.3, 0.5, 0.9, 0.95, 0.99, 0.999}) {
                const auto limit = largest_that_fits(framework, memory, probability, on_gpu);
                EXPECT_LE(limit, before) << probability;
                before = limit;
                EXPECT_GT(limit, 0);
                if (limit == memory) continue;
                EXPECT_LE(out_of_memory_probability(framework, limit, memory, on_gpu), 1 - probability);
                EXPECT_GT(out_of_memory_probability(framework, limit + 1, memory, on_gpu), 1 - probability);
            }
            EXPECT_EQ(largest_that_fits(framework, memory, 0, on_gpu), memory);
        }
}

TEST(Planner, TheBestOfTheReadmesClusterFitsUnderTheFrameworkThatTrainsIt) {
    for (const auto framework :
         {Framework::Plimsoll, Framework::DeepSpeed, Framework::Megatron, Framework::TorchTitan}) {
        auto request = request_for("llama-3-8b", 8, 128, "H100 SXM5 80GB");
        request.plan.data.sequence_length = 8192;
        request.framework = framework;
        const auto result = plan_layouts(request);
        ASSERT_TRUE(result) << result.error().message;
        ASSERT_FALSE(result->ranked.empty()) << name_of(framework) << ": " << result->binding;
        for (const auto& c : result->ranked) EXPECT_LE(c.out_of_memory, 0.05) << layout_words(c.layout);
        EXPECT_EQ(to_json(request, *result)["framework"], name_of(framework));
    }
}

TEST(Planner, EachFrameworksLayoutsAreThoseThatItTrains) {
    auto request = request_for("llama-3-8b", 8, 16, "H100 SXM5 80GB");
    const auto under = [&](Framework framework) {
        request.framework = framework;
        return all_layouts(request, 8);
    };
    const auto all = under(Framework::Plimsoll);
    for (const auto framework : frameworks) {
        const auto own = under(framework);
        EXPECT_FALSE(own.empty()) << name_of(framework);
        EXPECT_EQ(own.size() == all.size(), framework == Framework::Plimsoll);
        for (const auto& layout : own) {
            EXPECT_EQ(refusal_of(framework, request.plan, layout), nullptr) << layout_words(layout);
            if (framework == Framework::HfTrainer) {
                EXPECT_EQ(layout.dp, 8);
            }
            if (framework == Framework::DeepSpeed && layout.pp > 1) {
                EXPECT_EQ(layout.schedule, Schedule::OneFOneB);
            }
        }
    }
    request.framework = Framework::Megatron;
    request.choices.schedule = {Schedule::ZbH1};
    request.choices.pp = {2};
    const auto none = plan_layouts(request);
    ASSERT_TRUE(none);
    EXPECT_TRUE(none->ranked.empty());
    EXPECT_THAT(none->binding,
                testing::HasSubstr("Megatron-LM has no such schedule: it has 1f1b and interleaved-1f1b"));
}

TEST(Planner, StagesOfZeroOnOneRankAreOneRow) {
    auto request = request_for("gpt2-xl", 1, 8);
    request.keep = 1000;
    const auto result = plan_layouts(request);
    ASSERT_TRUE(result);
    const auto row = [](const Candidate& c) {
        return std::tuple(c.layout.micro_batch, c.layout.recompute, c.layout.offload_optimizer, c.step, c.peak);
    };
    for (std::size_t i = 0; i < result->ranked.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            EXPECT_NE(row(result->ranked[i]), row(result->ranked[j]))
                << layout_words(result->ranked[i].layout) << " and " << layout_words(result->ranked[j].layout);
    // Without offload the four stages are one, and the plainest stands for them.
    std::int64_t plain = 0;
    for (const auto& c : result->ranked)
        if (c.layout.offload_optimizer == Offload::None) {
            ++plain;
            EXPECT_EQ(c.layout.zero_stage, 0);
        }
    EXPECT_EQ(plain, 4 * 3) << "micro-batches 1, 2, 4, 8 and three kinds of recomputation";
    EXPECT_GT(result->counts.layouts, 4 * 4 * 3) << "all stages are in the space";
}

TEST(Planner, CountsDoNotDependOnTheRowsThatAreKept) {
    auto request = request_for("llama-7b", 8, 16);
    std::set<std::int64_t> layouts;
    for (const std::size_t keep : {1, 10, 1000}) {
        request.keep = keep;
        const auto result = plan_layouts(request);
        ASSERT_TRUE(result);
        layouts.insert(result->counts.layouts);
        EXPECT_EQ(result->counts.evaluated + result->counts.pruned, result->counts.layouts);
    }
    EXPECT_EQ(layouts.size(), 1U);
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
    const auto limit = fit_limit(request, request.plan.cluster, *usable_bytes(request.plan.cluster));
    for (const auto& n : all) {
        EXPECT_FALSE(n.reason.empty()) << n.change;
        if (n.candidate && n.candidate->peak <= limit) {
            EXPECT_GE(n.candidate->step, best.step) << n.change;
        }
    }
}

TEST(Planner, NeighboursSayWhatKeepsThemOut) {
    auto request = request_for("llama-7b", 8, 16);
    Candidate best;
    best.cluster = request.plan.cluster;
    best.layout = request.plan.layout;
    best.layout.tp = 8, best.layout.dp = 1, best.layout.micro_batch = 16, best.layout.accumulation = 1;
    best.step = 1;
    const auto reason = [&](const std::string& change) {
        for (const auto& n : neighbours(request, best))
            if (n.change.starts_with(change)) return n.reason;
        return std::string("no such neighbour");
    };
    EXPECT_EQ(reason("tp 16 instead of 8"), "tp 16 x pp 1 x cp 1 takes 16 GPUs of 8");
    EXPECT_EQ(reason("micro-batch 32"), "16 sequences do not divide by 1 data-parallel rank of 32 at once");
    EXPECT_EQ(reason("ZeRO"), "no such neighbour") << "one rank shares with nobody";
    best.layout.tp = 2, best.layout.dp = 4, best.layout.micro_batch = 4;
    EXPECT_EQ(reason("micro-batch 8"), "16 sequences do not divide by 4 data-parallel ranks of 8 at once");
    request.framework = Framework::TorchTitan;
    EXPECT_EQ(reason("recomputation mlp"), "torchtitan (FSDP2) shards parameters as well (FSDP2): ZeRO-3");
    // An estimate within the memory that would run out too often is not called fitting.
    request.framework = Framework::Plimsoll;
    const auto risky = request_for("llama-13b", 8, 16);
    const auto found = plan_layouts(risky);
    ASSERT_TRUE(found && !found->ranked.empty());
    const auto usable = *usable_bytes(risky.plan.cluster);
    for (const auto& n : neighbours(risky, found->ranked.front()))
        if (n.candidate && n.candidate->peak <= usable && n.candidate->out_of_memory > 0.05) {
            EXPECT_THAT(n.reason, testing::HasSubstr("% to run out of memory")) << n.change;
        }
}

TEST(Planner, HostMemoryIsALimitOfAMachine) {
    auto request = request_for("llama-2-70b", 8, 16, "H100 SXM5 80GB");
    const auto free = plan_layouts(request);
    ASSERT_TRUE(free && !free->ranked.empty());
    const auto& best = free->ranked.front();
    EXPECT_NE(best.layout.offload_optimizer, Offload::None);
    // 12 B of masters, moments and gradients beside 4 B more: 16 B a parameter of the model on the one machine.
    EXPECT_GT(host_of_machine(best), 12 * 69'000'000'000);
    EXPECT_EQ(host_of_machine(best), best.host * 8);
    request.host_memory = 512 * GiB;
    const auto small = plan_layouts(request);
    ASSERT_TRUE(small);
    EXPECT_TRUE(small->ranked.empty());
    EXPECT_THAT(small->binding, testing::StartsWith("host memory: "));
    EXPECT_THAT(small->binding, testing::HasSubstr("512 GiB of a machine"));
    ASSERT_FALSE(small->relaxations.empty());
    EXPECT_THAT(small->relaxations.front().words, testing::HasSubstr("of host memory a machine instead of 512 GiB"));
    int of_host = 0;
    for (const auto& n : neighbours(request, best))
        of_host += n.reason.find("of host memory a machine of 512 GiB") != std::string::npos ? 1 : 0;
    EXPECT_GT(of_host, 0);
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
    const auto seventy = rules(request_for("llama-2-70b", 64, 128));
    EXPECT_FALSE(of(seventy, "ZeRO-3").why.empty());
    EXPECT_NE(of(seventy, "within a node").why.find("of 8 GPUs per node"), std::string::npos)
        << of(seventy, "within a node").why;
}

TEST(Planner, BadRequestsAreRefusedInASentence) {
    auto request = request_for("llama-7b", 8, 16);
    request.plan.cluster.gpu = "no such card";
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("no such card"));
    request = request_for("llama-7b", 8, 16);
    request.headroom = 1.5;
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("headroom"));
    request = request_for("llama-7b", 8, 16);
    request.fit_probability = 95;
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("least probability of fitting"));
    request = request_for("t5-11b", 8, 16);
    request.framework = Framework::TorchTitan;
    EXPECT_THAT(plan_layouts(request).error().message, testing::HasSubstr("torchtitan has no encoder-decoder"));
    request = request_for("llama-7b", 8, -3);
    request.plan.layout.dp = 0;
    EXPECT_FALSE(plan_layouts(request));
    request = request_for("llama-7b", 8, 16);
    request.plan.model.hidden_size = -1;
    EXPECT_FALSE(plan_layouts(request));
}

}  // namespace
}  // namespace plimsoll
