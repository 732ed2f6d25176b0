// SPDX-License-Identifier: Apache-2.0
#include "core/planner/planner.h"

#include <algorithm>

#include "core/frameworks/error_model.h"
#include "core/frameworks/estimate_under.h"
#include "core/plan/checks/check_plan.h"
#include "core/plan/machine.h"
#include "core/plan/plan_io.h"
#include "core/planner/fit_limit.h"
#include "core/planner/memory_counter.h"
#include "core/planner/relax.h"
#include "core/planner/search.h"
#include "core/planner/space.h"

namespace plimsoll {

namespace {

PlanResult result_of(const PlanRequest& request, const std::vector<Pool>& pools, const Found& found) {
    PlanResult result;
    result.counts = found.counts;
    for (const auto& point : found.front.sorted()) {
        result.front.push_back(candidate_of(request, pools, point));
        result.front.back().on_front = true;
    }
    for (const auto& point : found.ranking.sorted()) {
        result.ranked.push_back(candidate_of(request, pools, point));
        auto& made = result.ranked.back();
        made.on_front = std::any_of(result.front.begin(), result.front.end(), [&](const Candidate& other) {
            return other.layout == made.layout && other.cluster == made.cluster;
        });
    }
    if (found.leanest) result.leanest = candidate_of(request, pools, *found.leanest);
    return result;
}

/// Errors that no layout can cure: the model, the data, the recipe, the GPU.
Result<void> plannable(const PlanRequest& request) {
    Plan plan = request.plan;
    const auto batch = global_batch_of(request);
    if (batch < 1) return bad_input("a global batch of {} is none; take 1 or more sequences", batch);
    if (request.headroom < 0 || request.headroom >= 1)
        return bad_input("headroom is the share of memory to keep free, 0 to below 1, not {}", request.headroom);
    if (!(request.fit_probability >= 0 && request.fit_probability < 1))
        return bad_input("the least probability of fitting is a share from 0 (none is asked) to below 1, not {}",
                         request.fit_probability);
    if (request.host_memory < 0) return bad_input("host memory is 0 (no limit) or more, not {}", request.host_memory);
    plan.layout = Layout{};
    plan.layout.dp = plan.layout.tp = plan.layout.pp = plan.layout.micro_batch = 1;
    plan.cluster.gpus_per_node = plan.cluster.nodes = 1;
    if (auto possible = require_possible(plan); !possible) return possible;
    if (request.framework == Framework::TorchTitan) plan.layout.zero_stage = 3;
    if (auto known = estimate_under(request.framework, plan); !known) return tl::unexpected(known.error());
    if (request.plan.cluster.world_size() < 1) return bad_input("a cluster of no GPUs; take 1 or more");
    plan = request.plan;
    plan.layout = Layout{};
    plan.layout.dp = plan.cluster.world_size();
    plan.layout.tp = plan.layout.pp = plan.layout.micro_batch = 1;
    for (const auto& problem : check_plan(plan))
        if (problem.key.starts_with("cluster.")) return bad_input("{}", problem.sentence);
    return {};
}

}  // namespace

Plan plan_of(const PlanRequest& request, const Candidate& candidate) {
    Plan plan = request.plan;
    plan.cluster = candidate.cluster;
    plan.layout = candidate.layout;
    return plan;
}

Candidate candidate_of(const PlanRequest& request, const std::vector<Pool>& pools, const LayoutPoint& point) {
    const auto& pool = pools[point.pool];
    Candidate made;
    made.cluster = part_of(pool.cluster, point.gpus);
    made.layout = point.layout;
    made.peak = point.peak;
    made.host = host_under(request.framework, plan_of(request, made));
    made.out_of_memory = out_of_memory_probability(request.framework, made.peak, pool.usable, !made.cluster.on_cpu());
    set_times(request, pool.hardware, made);
    return made;
}

void set_times(const PlanRequest& request, const Hardware& hardware, Candidate& candidate) {
    const auto report = step_time(plan_of(request, candidate), hardware);
    if (!report) return;
    candidate.time = report->time;
    candidate.step = report->step;
    candidate.tokens_per_second = report->tokens_per_second;
    candidate.mfu = report->mfu;
    if (report->tokens > 0)
        candidate.price_per_million_tokens = request.price_per_gpu_hour * static_cast<double>(candidate.gpus()) *
                                             report->step / 3600 / report->tokens * 1e6;
}

Bytes host_of_machine(const Candidate& candidate) { return host_of_machine(candidate.cluster, candidate.host); }

Budget budget_of(const PlanRequest& request, const Candidate& candidate) {
    StepReport report;
    report.step = candidate.step;
    report.tokens = candidate.tokens_per_second * candidate.step;
    return budget_of(report, candidate.gpus(), request.tokens, request.price_per_gpu_hour);
}

Result<std::vector<Pool>> pools(const PlanRequest& request) {
    std::vector<Pool> all;
    std::vector<Cluster> groups{request.plan.cluster};
    groups.insert(groups.end(), request.more.begin(), request.more.end());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        PLIMSOLL_TRY(const auto hardware, hardware_of(groups[i], request.plan.numerics.dtype));
        PLIMSOLL_TRY(const auto usable, usable_bytes(groups[i]));
        const auto words =
            groups.size() == 1 ? std::string() : fmt::format("{} x {} alone", groups[i].world_size(), groups[i].gpu);
        all.push_back({groups[i], hardware, usable, fit_limit(request, groups[i], usable), words});
    }
    if (groups.size() < 2) return all;
    // All clusters as one, whose ranks are as slow and small as the weakest.
    Pool both = all.front();
    std::int64_t gpus = 0;
    for (const auto& pool : all) {
        gpus += pool.cluster.world_size();
        if (pool.usable < both.usable) {
            both.usable = pool.usable;
            both.limit = pool.limit;
            both.cluster.gpu = pool.cluster.gpu;
            both.cluster.usable_gib = pool.cluster.usable_gib;
            both.hardware.gpu = pool.hardware.gpu;
        }
        auto& h = both.hardware;
        h.peak = std::min(h.peak, pool.hardware.peak);
        h.memory = std::min(h.memory, pool.hardware.memory);
        h.node_link = std::min(h.node_link, pool.hardware.node_link);
        h.nic = std::min(h.nic, pool.hardware.nic);
        h.host_link = std::min(h.host_link, pool.hardware.host_link);
        h.a_node = std::min(h.a_node, pool.hardware.a_node);
        h.efficiency.matmul = std::min(h.efficiency.matmul, pool.hardware.efficiency.matmul);
        both.cluster.internode_gbs = std::min(both.cluster.internode_gbs, pool.cluster.internode_gbs);
    }
    both.cluster.gpus_per_node = both.hardware.a_node;
    while (gpus % both.cluster.gpus_per_node != 0) --both.cluster.gpus_per_node;
    both.hardware.a_node = both.cluster.gpus_per_node;
    both.cluster.nodes = gpus / both.cluster.gpus_per_node;
    both.words = fmt::format("all {} GPUs, each rank as slow and small as the weakest", gpus);
    all.push_back(std::move(both));
    return all;
}

Result<PlanResult> plan_layouts(const PlanRequest& request, const PlanProgress& progress,
                                const std::atomic<bool>* cancel) {
    PLIMSOLL_CHECK(plannable(request));
    PLIMSOLL_TRY(const auto all, pools(request));
    const auto tell = [&](const Found& found) {
        Found ranked{found.ranking, {}, {}, found.host_binds, found.counts};
        progress(result_of(request, all, ranked));
    };
    const auto found = search(request, all, progress ? SearchProgress(tell) : SearchProgress(), cancel);
    auto result = result_of(request, all, found);
    if (all.size() > 1)
        for (const auto& pool : all) {
            const auto best = std::find_if(result.ranked.begin(), result.ranked.end(), [&](const Candidate& c) {
                return c.cluster.gpu == pool.cluster.gpu && c.gpus() == pool.cluster.world_size();
            });
            result.notes.push_back(best == result.ranked.end()
                                       ? fmt::format("{}: not among the {} best", pool.words, result.ranked.size())
                                       : fmt::format("{}: {} a step at best", pool.words, format_seconds(best->step)));
        }
    const bool cancelled = cancel && cancel->load();
    if (result.ranked.empty() && !cancelled) relax(request, all, found.host_binds, result);
    return result;
}

}  // namespace plimsoll
